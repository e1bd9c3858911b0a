-- Gives the queued jobs that were found the queue $21 and the priority $22, unless these are null; if $23 they are due at $24, or now.
-- $20 are the states in which the action applies. When a job that runs in order is moved, the next one of its lane may start.
, before as materialized (
    select id, queue, kind, limit_key from meanwhile.queued where id = any (array(select id from found where state = 'queued'))
    order by id for update
), touched as (
    insert into meanwhile.touched (queue, key)
    select distinct queue, limit_key from before where $21::text is not null and limit_key is not null
    returning queue
), changed as (
    update meanwhile.queued
    set queue = coalesce($21::text, queue), priority = coalesce($22::smallint, priority),
        run_at = case when $23 then coalesce($24::timestamptz, now()) else run_at end
    where id = any (array(select id from before))
    returning id, queue, kind
), counted as (
    insert into meanwhile.counts (unfinished, queue, kind)
    select sum(n), queue, kind
    from (select -1 n, queue, kind from before union all select 1, queue, kind from changed) d
    group by queue, kind having sum(n) <> 0
), conflicts as (
    select null::uuid id where false
), woken as (
    select queue from changed union select queue from touched
)
