-- Returns the result for the jobs that were found: how many were changed, skipped, in conflict, and found at all; the last of them; those that
-- another transaction has changed since; and the queues in which jobs may have become due.
select (select count(*) from changed), (select count(*) from found where state <> all ($20::text[])), (select count(*) from conflicts),
    (select count(*) from found), (select id from found order by id limit 1),
    array(
        select id from found where state = any ($20) except all (select id from changed union all select id from conflicts)
    ),
    array(select queue from woken)
