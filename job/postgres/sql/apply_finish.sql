-- Cancels or discards the jobs that were found: those queued become finished in the state $21, and workers are asked to cancel those
-- running if $22. $20 are the states in which the action applies. When a job that runs in order is finished, the next one of its
-- lane may start.
, gone as (
    delete from meanwhile.queued where id = any (array(select id from found where state = 'queued'))
    returning *
), put as (
    insert into meanwhile.finished (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind,
        worker, unique_key, args, detail, options, finished, state)
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, now(), $21::text
    from gone
), touched as (
    insert into meanwhile.touched (queue, key)
    select distinct queue, limit_key from gone where limit_key is not null
    returning queue
), asked as (
    update meanwhile.running set cancel_requested = true
    where $22 and id = any (array(select id from found where state = 'running'))
    returning id
), freed as (
    delete from meanwhile.unique_keys k using gone g
    where g.unique_key is not null and k.key = g.unique_key and k.id = g.id
        and (g.unique_for is null or g.created + g.unique_for <= now())
), held as (
    update meanwhile.unique_keys k set free_at = g.created + g.unique_for from gone g
    where g.unique_key is not null and k.key = g.unique_key and k.id = g.id and g.created + g.unique_for > now()
), counted as (
    insert into meanwhile.counts (unfinished, canceled, discarded, queue, kind)
    select -count(*), count(*) filter (where $21 = 'canceled'), count(*) filter (where $21 = 'discarded'), queue, kind
    from gone group by queue, kind
), changed as (
    select id from gone union all select id from asked
), conflicts as (
    select null::uuid id where false
), woken as (
    select distinct queue from touched
)
