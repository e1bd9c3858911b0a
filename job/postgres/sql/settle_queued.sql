-- Puts back the jobs $2 with the attempts $3 that the worker $1 holds, with new fields, due at $9, or after the delay
-- $10, or at once; and returns those that it does not hold.
with outcome as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::int[], $7::smallint[], $8::text[],
        $9::timestamptz[], $10::interval[])
        o(id, attempt, detail, spared, max_attempts, priority, queue, run_at, delay)
), gone as (
    delete from meanwhile.running r using outcome o
    where r.id = o.id and r.attempt = o.attempt and r.worker = $1
    returning r.id, coalesce(o.run_at, now() + o.delay, now()) run_at, r.created, r.started, r.unique_for, o.priority,
        r.attempt, o.spared, r.died, o.max_attempts, o.queue, r.kind, r.worker, r.unique_key, r.args, o.detail,
        r.queue as queue_before
), put as (
    insert into meanwhile.queued
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail
    from gone
), counted as (
    insert into meanwhile.counts (unfinished, queue, kind)
    select sum(c.n), c.queue, g.kind
    from gone g cross join lateral (values (-1, g.queue_before), (1, g.queue)) c(n, queue)
    where g.queue <> g.queue_before collate "C" group by c.queue, g.kind
)
select id from outcome except all select id from gone
