select worker, info, seen from meanwhile.workers
where $1::text[] is null or worker = any ($1)
order by worker
