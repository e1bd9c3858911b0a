-- Takes jobs whose lease has run out, at most $3 in all and $2[i] of the queue $1[i], for the worker $4 with the lease $5, and
-- of the kinds $6; null is all.
-- The last columns are the worker that held the job, and whether it is to be canceled.
with expired as materialized (
    select r.id, r.worker
    from unnest($1::text[], $2::int[]) with ordinality w(queue, lim, n) cross join lateral (
        select id, worker from meanwhile.running r
        where r.queue = w.queue collate "C" and r.lease_until <= now()
            and ($6::text[] is null or r.kind = any ($6))
        order by r.priority desc, r.run_at, r.id
        limit w.lim
        for update skip locked
    ) r
    where w.lim > 0 and not exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused)
    order by w.n
    limit $3
)
update meanwhile.running r
set attempt = r.attempt + 1, died = r.died + 1, started = now(), worker = $4, lease_until = now() + $5::interval
from expired e where r.id = e.id
returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
    r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, e.worker, r.cancel_requested
