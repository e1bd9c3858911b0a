-- Releases the jobs $2 with the attempts $3 that the session $1 holds, with new fields, due at $9, or after the delay $10, or at once. Those for
-- which a cancel was requested are finished instead, and their unique keys locked in order, as inserts do. It returns the jobs that the session does
-- not hold.
with outcome as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::int[], $7::smallint[], $8::text[],
        $9::timestamptz[], $10::interval[])
        o(id, attempt, detail, spared, max_attempts, priority, queue, run_at, delay)
), gone as (
    delete from meanwhile.running r using outcome o
    where r.id = o.id and r.attempt = o.attempt and r.session = $1
    returning r.id, coalesce(o.run_at, now() + o.delay, now()) run_at, r.created, r.started, r.unique_for, o.priority,
        r.attempt, o.spared, r.died, o.max_attempts, o.queue, r.kind, r.worker, r.unique_key, r.args, o.detail, r.options, r.limit_key,
        r.queue as queue_before, r.cancel_requested
), put as (
    insert into meanwhile.queued (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind,
        worker, unique_key, args, detail, options, limit_key)
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, limit_key
    from gone where not cancel_requested
), canceled as (
    insert into meanwhile.finished (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind,
        worker, unique_key, args, detail, finished, state, options)
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, now(), 'canceled', options
    from gone where cancel_requested
    on conflict (id) do nothing
), locked as materialized (
    select k.key from (select id, unique_key from gone where cancel_requested and unique_key is not null order by unique_key) g
    cross join lateral (select key from meanwhile.unique_keys where key = g.unique_key and id = g.id for update) k
), freed as (
    delete from meanwhile.unique_keys k using gone g
    where (select count(*) from locked) > 0 and g.cancel_requested and g.unique_key is not null and k.key = g.unique_key and k.id = g.id
        and (g.unique_for is null or g.created + g.unique_for <= now())
), held as (
    update meanwhile.unique_keys k set free_at = g.created + g.unique_for from gone g
    where (select count(*) from locked) > 0 and g.cancel_requested and g.unique_key is not null and k.key = g.unique_key and k.id = g.id
        and g.created + g.unique_for > now()
), counted as (
    insert into meanwhile.counts (unfinished, canceled, queue, kind)
    select sum(c.unfinished), sum(c.canceled), c.queue, g.kind
    from gone g cross join lateral (values
        (-1, 0, g.queue_before), (case when g.cancel_requested then 0 else 1 end, case when g.cancel_requested then 1 else 0 end, g.queue)
    ) c(unfinished, canceled, queue)
    where g.queue <> g.queue_before collate "C" or g.cancel_requested group by c.queue, g.kind
)
select id from outcome except all select id from gone
