-- Locks the jobs $1 where they are and returns them.
with q as materialized (
    select * from meanwhile.queued where id = any ($1::uuid[]) order by id for update
), r as materialized (
    select * from meanwhile.running where id = any ($1::uuid[]) order by id for update
), f as materialized (
    select * from meanwhile.finished where id = any ($1::uuid[]) order by id for update
)
select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
    unique_key, args, detail, options, false, null::timestamptz, 'queued'
from q
union all
select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
    unique_key, args, detail, options, cancel_requested, null, 'running'
from r
union all
select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
    unique_key, args, detail, options, false, finished, state
from f
order by 1
