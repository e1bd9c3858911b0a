-- name: queue_add
insert into meanwhile_queue (name) values (?1) on conflict do nothing

-- name: queue_find
select id, paused, limits, free, exists (select 1 from meanwhile_waiting w where w.queue = q.id), held, paid, overrides
from meanwhile_queue q where name = ?1

-- name: queue_pause
update meanwhile_queue set paused = ?2 where name = ?1

-- name: queues
-- The oldest due time is looked up once for each priority, and once for jobs with a limit key.
select q.name, q.paused, ifnull(sum(n.n) filter (where n.state = 0), 0), ifnull(sum(n.n) filter (where n.state = 1), 0), (
    select min(case p.value when 0 then (
        select j.run_at from meanwhile_job j
        where j.state = 0 and j.queue = q.id and j.limit_key is not null and j.run_at <= ?1 order by j.run_at limit 1
    ) else (
        select j.run_at from meanwhile_job j
        where j.state = 0 and j.queue = q.id and j.limit_key is null and j.priority = p.value and j.run_at <= ?1
        order by j.run_at limit 1
    ) end) from json_each('[0,1,2,3,4,5,6,7,8,9]') p
)
from meanwhile_queue q
    left join meanwhile_class c on c.queue = q.id
    left join meanwhile_count n on n.class = c.id and n.state in (0, 1)
group by q.id
having q.paused or sum(n.n) > 0
order by q.name
