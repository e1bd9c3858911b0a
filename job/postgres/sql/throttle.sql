-- Throttles for $4 from now the lanes of those of the jobs $2 with the attempts $3 that the session $1 holds; for a job without a limit key, its
-- whole queue. Jobs that are to be queued ($5) although they are to be canceled count as not held. It locks queues before lanes, as claims do.
with held as materialized (
    select r.queue, coalesce(r.limit_key, '') as key, now() + o.d as until
    from meanwhile.running r join unnest($2::uuid[], $3::int[], $4::interval[], $5::boolean[]) o(id, attempt, d, queued) on r.id = o.id and r.attempt = o.attempt
    where r.session = $1 and not (o.queued and r.cancel_requested)
    order by r.id for update of r
), locked as (
    insert into meanwhile.queues as q (queue, paused, held)
    select queue, false, max(until) filter (where key = '') from held group by queue order by queue
    on conflict (queue) do update set held = greatest(q.held, excluded.held)
    returning q.queue
), touched as (
    insert into meanwhile.touched (queue, key)
    select distinct h.queue, h.key from held h join locked k on k.queue = h.queue where h.key <> ''
)
insert into meanwhile.lanes as l (queue, key, held, idle)
select h.queue, h.key, max(h.until), max(h.until) from held h join locked k on k.queue = h.queue
where h.key <> '' group by h.queue, h.key
on conflict (queue, key) do update set held = greatest(l.held, excluded.held), idle = greatest(l.idle, excluded.held)
