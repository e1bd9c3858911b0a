-- Locks the unique keys of the listed jobs before the jobs are found. Inserts that replace a job do the same: keys before queued jobs, which the
-- action changes afterwards, and finished jobs before keys. Any other order could deadlock. Each key is looked up
-- by itself: a join in the order of keys would read all of them.
, archive as materialized (
    select id, unique_key from meanwhile.finished
    where id = any (array(select id from listed where state not in ('queued', 'running') and state = any ($20)))
    order by id for update
), locked as materialized (
    select k.key
    from (
        select id, unique_key from archive where unique_key is not null
        union all
        select id, unique_key from meanwhile.queued
        where id = any (array(select id from listed where state = 'queued' and state = any ($20))) and unique_key is not null
        order by unique_key
    ) j
    cross join lateral (select key from meanwhile.unique_keys where key = j.unique_key and id = j.id for update) k
), found as materialized (
    select id, state from listed where (select count(*) from locked) >= 0
)
