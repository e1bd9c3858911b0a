select minute, worker, queue, kind, stat from meanwhile.stats where minute >= $1 order by minute, worker, queue, kind
