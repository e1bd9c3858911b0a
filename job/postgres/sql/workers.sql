select worker, info, seen from meanwhile.workers order by worker
