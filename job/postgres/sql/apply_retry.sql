-- Makes the queued jobs that were listed due now, and queues the finished ones again, unless their unique key is held by another job; of several jobs
-- with one key the newest gets it. With $21 they get all their attempts again. $20 are the states in which the action applies. How often a job was
-- released is the last entry of its detail. Keys that no job has are taken before others are locked, as inserts do: in another order the two could
-- deadlock, see apply_found. A key that was free to take, but was deleted before it was locked, is no conflict: the job is searched for again.
, archived as materialized (
    select id, unique_key from meanwhile.finished
    where id = any (array(select id from listed where state not in ('queued', 'running') and state = any ($20)))
    order by id for update
), wanted as materialized (
    select distinct on (a.unique_key) a.unique_key, a.id, k.id = a.id or k.free_at <= now() as open
    from archived a left join meanwhile.unique_keys k on k.key = a.unique_key
    where a.unique_key is not null
    order by a.unique_key, (k.id is not distinct from a.id) desc, a.id desc
), taken as (
    insert into meanwhile.unique_keys (key, id) select unique_key, id from wanted order by unique_key
    on conflict (key) do nothing
    returning id
), locked as materialized (
    select k.key, j.id
    from (
        select id, unique_key from wanted where open
        union all
        select id, unique_key from meanwhile.queued
        where id = any (array(select id from listed where state = 'queued' and state = any ($20))) and unique_key is not null
        order by unique_key
    ) j
    cross join lateral (
        select key from meanwhile.unique_keys where key = j.unique_key and (id = j.id or free_at <= now()) for update
    ) k
    where (select count(*) from taken) >= 0
), found as materialized (
    select id, state from listed where (select count(*) from locked) >= 0
), given as (
    update meanwhile.unique_keys k set id = w.id, free_at = null
    from wanted w join locked l on l.key = w.unique_key and l.id = w.id
    where k.key = w.unique_key
    returning k.id
), keyed as (
    select id from taken union all select id from given
), gone as (
    delete from meanwhile.finished
    where id = any (array(select id from archived where unique_key is null union all select id from keyed))
    returning *
), put as (
    insert into meanwhile.queued (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue,
        kind, worker, unique_key, args, detail, options, limit_key)
    select id, case when $21::boolean then now() else run_at end, created, started, unique_for, priority, attempt,
        case when $21 then attempt else spared end, died, max_attempts, queue, kind, worker, unique_key, args,
        case when $21 then nullif(regexp_replace(detail, ',?"released":[0-9]+}$', '}'), '{}') else detail end, options,
        case when strpos(options, '"limit_key":["') > 0 then left(substr(options, strpos(options, '"limit_key":["') + 12), -1)::jsonb ->> 0 end
    from gone
), waiting as (
    update meanwhile.queued set run_at = now()
    where id = any (array(select id from found where state = 'queued' and state = any ($20)))
    returning id, queue
), counted as (
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select count(*), -count(*) filter (where state = 'completed'), -count(*) filter (where state = 'canceled'),
        -count(*) filter (where state = 'discarded'), queue, kind
    from gone group by queue, kind
), changed as (
    select id, queue from gone union all select id, queue from waiting
), conflicts as (
    select id from archived where unique_key is not null except select id from keyed except select id from wanted where open
), woken as (
    select distinct queue from changed
)
