-- Deletes the jobs that were found, with the unique keys that they hold. $20 are the states in which the action applies. The
-- deletion of a job that runs in order lets the next one of its lane start, and so may that of a discarded job.
, waiting as (
    delete from meanwhile.queued where id = any (array(select id from found where state = 'queued'))
    returning id, queue, kind, unique_key, 'queued' state, limit_key
), touched as (
    insert into meanwhile.touched (queue, key)
    select distinct queue, limit_key from waiting where limit_key is not null
    returning queue
), archived as (
    delete from meanwhile.finished where id = any (array(select id from found where state not in ('queued', 'running')))
    returning id, queue, kind, unique_key, state
), changed as (
    select id, queue, kind, unique_key, state from waiting union all select * from archived
), freed as (
    delete from meanwhile.unique_keys k using changed g
    where g.unique_key is not null and k.key = g.unique_key and k.id = g.id
), counted as (
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select -count(*) filter (where state = 'queued'), -count(*) filter (where state = 'completed'),
        -count(*) filter (where state = 'canceled'), -count(*) filter (where state = 'discarded'), queue, kind
    from changed group by queue, kind
), conflicts as (
    select null::uuid id where false
), woken as (
    select queue from touched union select queue from archived where state = 'discarded'
)
