-- name: sweep_queue
-- The first queue from ?1 on that has limits, lanes or queued jobs with limit keys.
select id, name from meanwhile_queue q
where id >= ?1 and (
    limits is not null or exists (select 1 from meanwhile_lane l where l.queue = q.id and l.key > '')
    or exists (select 1 from meanwhile_job j where j.state = 0 and j.queue = q.id and j.limit_key is not null)
)
order by id limit 1

-- name: sweep_lanes
select key from meanwhile_lane where queue = ?1 and key > ?2 order by key limit ?3

-- name: sweep_jobs
-- The limit keys after ?2 of queued jobs, each once.
with recursive k(key) as (
    select (
        select limit_key from meanwhile_job
        where state = 0 and queue = ?1 and limit_key is not null and limit_key > ?2 order by limit_key limit 1
    )
    union all
    select (
        select limit_key from meanwhile_job
        where state = 0 and queue = ?1 and limit_key is not null and limit_key > k.key order by limit_key limit 1
    ) from k where k.key is not null
)
select key from k where key is not null limit ?3

-- name: sweep_wake
select wake from meanwhile_lane where queue = ?1 and key = ?2

-- name: sweep_running
-- The classes of a queue of which another number of jobs run than is kept.
select c.id, coalesce(n.n, 0), coalesce(r.n, 0)
from meanwhile_class c left join meanwhile_count n on n.class = c.id and n.state = 1
    left join (
        select class, count(*) n from (
            select class from meanwhile_job where state = 1 and limit_key is null and queue = ?1
            union all
            select class from meanwhile_job where state = 1 and limit_key is not null and queue = ?1
        ) group by class
    ) r on r.class = c.id
where c.queue = ?1 and coalesce(n.n, 0) <> coalesce(r.n, 0)

-- name: sweep_holders
delete from meanwhile_holder where queue = ?1 and key = ?2 and not exists (
    select 1 from meanwhile_job j where j.id = meanwhile_holder.id and j.state = 4
)
