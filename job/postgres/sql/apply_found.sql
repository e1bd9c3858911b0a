-- Locks the unique keys of the listed jobs before the jobs are found. Inserts that replace a job do the same: keys before queued jobs, which the
-- action changes afterwards, and finished jobs before keys. Any other order could deadlock.
, archive as materialized (
    select id, unique_key from meanwhile.finished
    where id = any (array(select id from listed where state not in ('queued', 'running') and state = any ($20)))
    order by id for update
), locked as materialized (
    select k.key
    from (
        select id, unique_key from archive
        union all
        select id, unique_key from meanwhile.queued
        where id = any (array(select id from listed where state = 'queued' and state = any ($20)))
    ) j
    join meanwhile.unique_keys k on k.key = j.unique_key and k.id = j.id
    order by k.key for update of k
), found as materialized (
    select id, state from listed where (select count(*) from locked) >= 0
)
