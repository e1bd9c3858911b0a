-- Finishes those of the jobs $2 with the attempts $3 that the session $1 holds, with the details $4, in the states $5. It returns the jobs that the
-- session does not hold. Unique keys are locked in order, as inserts do.
with outcome as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) o(id, attempt, detail, state)
), gone as (
    delete from meanwhile.running r using outcome o
    where r.id = o.id and r.attempt = o.attempt and r.session = $1
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
        r.queue, r.kind, r.worker, r.unique_key, r.args, o.detail, r.options, o.state
), put as (
    insert into meanwhile.finished (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind,
        worker, unique_key, args, detail, finished, state, options)
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, now(), state, options
    from gone g
    where not exists (select from meanwhile.finished f where f.id = g.id)
), locked as materialized (
    select k.key from (select id, unique_key from gone where unique_key is not null order by unique_key) g
    cross join lateral (select key from meanwhile.unique_keys where key = g.unique_key and id = g.id for update) k
), freed as (
    delete from meanwhile.unique_keys k using gone g
    where (select count(*) from locked) > 0 and g.unique_key is not null and k.key = g.unique_key and k.id = g.id
        and (g.unique_for is null or g.created + g.unique_for <= now())
), held as (
    update meanwhile.unique_keys k set free_at = g.created + g.unique_for from gone g
    where (select count(*) from locked) > 0 and g.unique_key is not null and k.key = g.unique_key and k.id = g.id and g.created + g.unique_for > now()
), counted as (
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select -count(*), count(*) filter (where state = 'completed'), count(*) filter (where state = 'canceled'),
        count(*) filter (where state = 'discarded'), queue, kind
    from gone group by queue, kind
)
select id from outcome except all select id from gone
