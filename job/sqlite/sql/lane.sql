-- name: lane_wake
-- Lanes that were marked after they had been looked at, and those whose time has come.
select key, priority, turn, free, held, paid, served, wake from (
    select * from meanwhile_lane where queue = ?1 and wake <= 0 limit ?3
)
union all
select key, priority, turn, free, held, paid, served, wake from (
    select * from meanwhile_lane where queue = ?1 and wake > 9 and wake <= ?2 order by wake limit ?3
)

-- name: lane_wake_new
-- Lanes that nothing has looked at yet.
select key, priority, turn, free, held, paid, served, wake from meanwhile_lane where queue = ?1 and wake between 1 and 9 order by wake limit ?2

-- name: lane_next
select wake from meanwhile_lane where queue = ?1 and wake is not null order by wake limit 1

-- name: lane_any
select 1 from meanwhile_lane where queue = ?1 and key > '' limit 1

-- name: lane_find
select key, priority, turn, free, held, paid, served, wake from meanwhile_lane where queue = ?1 and key = ?2

-- name: lane_due
-- The highest priority below ?3 of the queued jobs of a lane, and when the first of it is due.
select p.priority, (
    select run_at from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?2 and priority = p.priority order by run_at limit 1
) from (
    select priority from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?2 and priority < ?3 order by priority desc limit 1
) p where p.priority is not null

-- name: lane_due_plain
select p.priority, (
    select run_at from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is null and priority = p.priority order by run_at limit 1
) from (
    select priority from meanwhile_job where state = 0 and queue = ?1 and limit_key is null and priority < ?2 order by priority desc limit 1
) p where p.priority is not null

-- name: lane_first
-- The first of the queued jobs of a lane whose jobs run in order.
select priority, run_at, id from meanwhile_job
where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?2 order by created, id limit 1

-- name: lane_order
-- For lane_first: made by the first claim from a queue whose jobs run in order, since all queued jobs with limit keys are in it.
create index if not exists meanwhile_job_in_order on meanwhile_job (queue, limit_key, created, id) where state = 0 and limit_key is not null

-- name: lane_holder
-- The discarded job that all queued jobs of a lane wait for.
select id from meanwhile_holder h
where queue = ?1 and key = ?2 and not exists (
    select 1 from meanwhile_job j
    where j.state = 0 and j.queue = ?1 and j.limit_key is not null and j.limit_key = ?2 and (j.created, j.id) < (h.created, h.id)
)
order by created, id limit 1

-- name: lane_running
select count(*) from meanwhile_job where state = 1 and queue = ?1 and limit_key is not null and limit_key = ?2

-- name: lane_open
select key, priority, turn, free, held, paid, served, wake from meanwhile_lane
where queue = ?1 and priority = ?2 and priority > 0 and turn > ?3 and turn <= ?4 order by turn limit ?5

-- name: lane_above
-- Lanes that are open by a higher priority than ?2, and have a due job of this one. With ?7 jobs of keys run in order.
select key, priority, turn, free, held, paid, served, wake from meanwhile_lane l
where queue = ?1 and priority > ?2 and priority > 0 and turn > ?3 and turn <= ?4 and (key = '' or not ?7) and case when key = '' then exists (
    select 1 from meanwhile_job j where j.state = 0 and j.queue = ?1 and j.limit_key is null and j.priority = ?2 and j.run_at <= ?6
) else exists (
    select 1 from meanwhile_job j
    where j.state = 0 and j.queue = ?1 and j.limit_key is not null and j.limit_key = l.key and j.priority = ?2 and j.run_at <= ?6
) end
order by turn limit ?5

-- name: lane_take
select $due from meanwhile_job
where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?6 and priority = ?2 and run_at <= ?3
    and (?4 is null or class in (select value from json_each(?4)))
order by run_at, id
limit ?5

-- name: lane_take_some
-- The first due jobs of lanes, and what else is queued of each: 1 for another due job, 2 for others, 0 for none, null where not all kinds are
-- claimed. n is there to number the parameters, as below.
with n as (select ?1, ?2, ?3, ?4), w (key) as (values {(?)})
select $due, iif(?4 is null, coalesce(
    (
        select 1 from meanwhile_job
        where state = 0 and queue = ?1 and limit_key is not null and limit_key = w.key and priority = ?2 and run_at <= ?3 limit 1 offset 1
    ),
    (select 2 from meanwhile_job where state = 0 and queue = ?1 and limit_key is not null and limit_key = w.key limit 1 offset 1),
    0
), null)
from w cross join meanwhile_job on seq = (
    select seq from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = w.key and priority = ?2 and run_at <= ?3
        and (?4 is null or class in (select value from json_each(?4)))
    order by run_at, id limit 1
)

-- name: lane_due_some
-- lane_due of several lanes, for the highest priority alone.
with n as (select ?1), w (key) as (values {(?)})
select key, p, (
    select run_at from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = key and priority = p order by run_at limit 1
) from (
    select key, (
        select priority from meanwhile_job
        where state = 0 and queue = ?1 and limit_key is not null and limit_key = key order by priority desc limit 1
    ) p from w
)

-- name: lane_running_some
-- lane_running of several lanes.
with n as (select ?1), w (key) as (values {(?)})
select key, (select count(*) from meanwhile_job where state = 1 and queue = ?1 and limit_key is not null and limit_key = key) from w

-- name: lane_take_first
select $due from meanwhile_job
where seq = (
    select seq from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?6 order by created, id limit 1
) and priority = ?2 and run_at <= ?3 and (?4 is null or class in (select value from json_each(?4))) and not exists (
    select 1 from meanwhile_holder h where h.queue = ?1 and h.key = ?6 and (h.created, h.id) < (meanwhile_job.created, meanwhile_job.id)
)
limit ?5

-- name: lane_cost
-- What the jobs cost that lane_take takes.
select coalesce(json_extract(options, '$.cost'), 0) from meanwhile_job
where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?6 and priority = ?2 and run_at <= ?3
    and (?4 is null or class in (select value from json_each(?4)))
order by run_at, id
limit ?5

-- name: lane_cost_plain
-- What the jobs cost that claim_due takes.
select coalesce(json_extract(options, '$.cost'), 0) from meanwhile_job
where state = 0 and queue = ?1 and limit_key is null and priority = ?2 and run_at <= ?3
    and (?4 is null or class in (select value from json_each(?4)))
order by run_at, id
limit ?5

-- name: lane_cost_first
-- What the job costs that lane_take_first takes.
select coalesce(json_extract(options, '$.cost'), 0) from meanwhile_job
where seq = (
    select seq from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?6 order by created, id limit 1
) and priority = ?2 and run_at <= ?3 and (?4 is null or class in (select value from json_each(?4))) and not exists (
    select 1 from meanwhile_holder h where h.queue = ?1 and h.key = ?6 and (h.created, h.id) < (meanwhile_job.created, meanwhile_job.id)
)
limit ?5

-- name: lane_put
insert or fail into meanwhile_lane (queue, key, priority, turn, free, wake, paid, served) values {(?1, ?, ?, ?, ?, ?, ?, ?)}
on conflict do update set priority = excluded.priority, turn = excluded.turn, free = excluded.free, wake = excluded.wake, paid = excluded.paid,
    served = excluded.served

-- name: lane_drop
delete from meanwhile_lane where queue = ?1 and key in ({?})

-- name: lane_queue
update meanwhile_queue set turn = ?2, free = ?3, paid = ?4 where id = ?1

-- name: lane_queue_running
select coalesce(sum(n.n), 0) from meanwhile_class c join meanwhile_count n on n.class = c.id and n.state = 1 where c.queue = ?1

-- name: lane_book
insert into meanwhile_lane (queue, key, paid, wake) values (?1, ?2, ?3, 0) on conflict do update set paid = excluded.paid, wake = 0

-- name: lane_book_queue
update meanwhile_queue set paid = ?2 where id = ?1

-- name: lane_of
-- The queue and the key that a running job counts for, if the session holds it.
select q.name, j.limit_key, q.id from meanwhile_job j join meanwhile_queue q on q.id = j.queue
where j.state = 1 and j.attempt = ?2 and j.session = ?3 and j.id = ?1

-- name: throttle_queue
update meanwhile_queue set held = max(held, ?2) where id = ?1

-- name: throttle_lane
insert into meanwhile_lane (queue, key, held, wake) values (?1, ?2, ?3, 0)
on conflict do update set held = max(held, excluded.held), wake = 0

-- name: throttle_end
update meanwhile_queue set held = 0 where name = ?1 and held > 0

-- name: throttle_end_lanes
update meanwhile_lane set held = 0, wake = 0 where queue = (select id from meanwhile_queue where name = ?1) and held > 0

-- name: limits_set
update meanwhile_queue set limits = ?2, free = case when ?3 then 0 else free end, paid = case when ?4 then 0 else paid end where name = ?1

-- name: limits_release
delete from meanwhile_holder where queue = (select id from meanwhile_queue where name = ?1)

-- name: limits_wake
-- Has the lanes looked at again. With ?2 and ?3 the rates of those begin anew that have none of their own.
update meanwhile_lane as l set wake = 0, free = case when ?2 and o.key is null then 0 else l.free end, paid = case when ?3 and o.key is null then 0 else l.paid end
from meanwhile_lane m left join meanwhile_override o on o.queue = m.queue and o.key = m.key
where m.queue = (select id from meanwhile_queue where name = ?1) and l.queue = m.queue and l.key = m.key

-- name: override_wake
update meanwhile_lane set wake = 0, free = case when ?3 then 0 else free end, paid = case when ?4 then 0 else paid end where queue = ?1 and key = ?2

-- name: override_find
select limits from meanwhile_override where queue = ?1 and key = ?2

-- name: override_put
insert into meanwhile_override (queue, key, limits) values (?1, ?2, ?3) on conflict do update set limits = excluded.limits

-- name: override_drop
delete from meanwhile_override where queue = ?1 and key = ?2

-- name: override_count
update meanwhile_queue set overrides = overrides + ?2 where id = ?1

-- name: override_list
select o.key, o.limits from meanwhile_override o join meanwhile_queue q on q.id = o.queue where q.name = ?1 and o.key > ?2 order by o.key limit ?3
