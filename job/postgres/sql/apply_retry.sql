-- Makes the queued jobs that were found due now, and queues the finished ones again, unless their unique key is held by another job; of several jobs
-- with one key the newest gets it. With $21 they get all their attempts again. $20 are the states in which the action applies. How often a job was
-- released is the last entry of its detail.
, archived as materialized (
    select id, unique_key from meanwhile.finished
    where id = any (array(select id from found where state not in ('queued', 'running') and state = any ($20)))
    order by id for update
), wanted as materialized (
    select distinct on (a.unique_key) a.unique_key, a.id
    from archived a left join meanwhile.unique_keys k on k.key = a.unique_key
    where a.unique_key is not null
    order by a.unique_key, (k.id is not distinct from a.id) desc, a.id desc
), keyed as (
    insert into meanwhile.unique_keys as k (key, id)
    select unique_key, id from wanted
    on conflict (key) do update set id = excluded.id, free_at = null where k.id = excluded.id or k.free_at <= now()
    returning k.id
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
    select id from archived where unique_key is not null except all select id from keyed
), woken as (
    select distinct queue from changed
)
