-- The queues that have unfinished jobs or are paused, with the age of the job that has been due longest.
with total as (
    select queue, sum(unfinished) unfinished from meanwhile.counts group by queue having sum(unfinished) > 0
), active as (
    select queue, sum(n) n from meanwhile.running_counts() group by queue
), stopped as (
    select queue from meanwhile.queues where paused
)
select coalesce(t.queue, s.queue), s.queue is not null, (coalesce(t.unfinished, 0) - coalesce(a.n, 0))::bigint,
    coalesce(a.n, 0)::bigint, d.age
from total t full join stopped s on s.queue = t.queue left join active a on a.queue = t.queue collate "C" cross join lateral (
    select now() - min(first.run_at) as age
    from (
        select j.run_at from generate_series(9, 1, -1) p cross join lateral (
            select q.run_at from meanwhile.queued q
            where q.queue = coalesce(t.queue, s.queue) and q.priority = p::smallint and q.run_at <= now() and q.limit_key is null
            order by q.run_at, q.id
            limit 1
        ) j
        union all
        (
            select q.run_at from meanwhile.queued q
            where q.queue = coalesce(t.queue, s.queue) and q.run_at <= now() and q.limit_key > ''
            order by q.run_at
            limit 1
        )
    ) first
) d
order by 1
