-- Deletes the jobs that are queued in the queues $1 although they are running: one statement cannot claim them. An insert refuses such a job, but not
-- in a transaction that does not see the running one, as one of repeatable reads may not.
with stored as materialized (
    select q.ctid place from meanwhile.running r join meanwhile.queued q on q.id = r.id where q.queue = any ($1) for update of q skip locked
), gone as (
    delete from meanwhile.queued where ctid = any (array(select place from stored))
    returning queue, kind, limit_key
), touched as (
    insert into meanwhile.touched (queue, key)
    select distinct queue, limit_key from gone where limit_key is not null
)
insert into meanwhile.counts (unfinished, queue, kind)
select -count(*), queue, kind from gone group by queue, kind
