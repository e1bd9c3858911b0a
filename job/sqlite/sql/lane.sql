-- name: lane_heads
-- The first waiting jobs of a lane below the priority ?3.
select priority, run_at, id, seq from meanwhile_waiting
where queue = ?1 and key = ?2 and priority < ?3 order by priority desc, run_at, id limit cast(?4 as integer)

-- name: lane_heads_more
-- The due jobs of a lane at the priority ?3 that come after the job (?4, ?5).
select priority, run_at, id, seq from meanwhile_waiting
where queue = ?1 and key = ?2 and priority = ?3 and (run_at, id) > (?4, ?5) and run_at <= ?6 order by run_at, id limit cast(?7 as integer)

-- name: lane_load
-- The waiting jobs of the lanes whose keys come after ?2.
select key, priority, run_at, id, seq from meanwhile_waiting
where queue = ?1 and key > ?2 order by key, priority desc, run_at, id limit cast(?3 as integer)

-- name: lane_clean
-- Removes the rows of a lane whose jobs no longer wait, up to the row (?4, ?5).
delete from meanwhile_waiting where queue = ?1 and key = ?2 and priority = ?3 and (run_at, id) <= (?4, ?5) and not exists (
    select 1 from meanwhile_job j
    where j.seq = meanwhile_waiting.seq and j.state = 0 and j.queue = meanwhile_waiting.queue and j.limit_key = meanwhile_waiting.key
        and j.priority = meanwhile_waiting.priority and j.run_at = meanwhile_waiting.run_at
)

-- name: lane_clean_all
-- Removes the rows of lanes whose jobs no longer wait.
delete from meanwhile_waiting where queue = ?1 and key in ({?}) and not exists (
    select 1 from meanwhile_job j
    where j.seq = meanwhile_waiting.seq and j.state = 0 and j.queue = meanwhile_waiting.queue and j.limit_key = meanwhile_waiting.key
        and j.priority = meanwhile_waiting.priority and j.run_at = meanwhile_waiting.run_at
)

-- name: lane_clean_one
delete from meanwhile_waiting where queue = ?1 and key = ?2 and priority = ?3 and run_at = ?4 and id = ?5

-- name: lane_last
select max(n) from meanwhile_change

-- name: lane_changes
select n, queue, key, priority, run_at from meanwhile_change where n > ?1 order by n

-- name: lane_changes_prune
delete from meanwhile_change where n <= (select max(n) from meanwhile_change) - ?1

-- name: lane_mark
-- Makes every process read a lane again; all lanes of the queue if the key is null.
insert into meanwhile_change (queue, key) values (?1, ?2)

-- name: lane_ended
-- Records that jobs of lanes have ended: lanes that are at capacity may start more.
insert into meanwhile_change (queue, key, priority) values {(?1, ?, 0)}

-- name: lane_turns
-- Records the turns that a claim has changed: the key is a list of keys, in JSON, and the priority is negative.
insert into meanwhile_change (queue, key, priority) values (?1, ?2, ?3) returning n

-- name: lane_at_capacity
update meanwhile_queue set at_capacity = 1 where id = ?1

-- name: lane_is_at_capacity
-- In a queue without limits no lane is at capacity. The column at_capacity is not reset: other processes, also of earlier builds, remember that they
-- have set it.
select at_capacity <> 0 and (limits is not null or overrides > 0) from meanwhile_queue where id = ?1

-- name: lane_find
select free, paid, held from meanwhile_lane where queue = ?1 and key = ?2

-- name: lane_find_some
select key, free, paid, held from meanwhile_lane where queue = ?1 and key in ({?})

-- name: lane_any
select 1 from meanwhile_lane where queue = ?1 limit 1

-- name: lane_expire
delete from meanwhile_lane where queue = ?1 and key in (select key from meanwhile_lane where queue = ?1 and idle <= ?2 order by idle limit ?3)

-- name: lane_put
insert or fail into meanwhile_lane (queue, key, free, paid, idle) values {(?1, ?, ?, ?, ?)}
on conflict do update set free = excluded.free, paid = excluded.paid, idle = excluded.idle

-- name: lane_due_plain
select p.priority, (
    select run_at from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is null and priority = p.priority order by run_at limit 1
) from (
    select priority from meanwhile_job where state = 0 and queue = ?1 and limit_key is null and priority < ?2 order by priority desc limit 1
) p where p.priority is not null

-- name: lane_first
-- The first queued job of a lane whose jobs run in order.
select priority, run_at, id from meanwhile_job
where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?2 order by created, id limit 1

-- name: lane_order
-- The index for lane_first. It is created only by the first claim from a queue whose jobs run in order, since it contains all queued jobs with limit
-- keys.
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

-- name: lane_running_some
-- lane_running for several lanes.
with n as (select ?1), w (key) as (values {(?)})
select key, (select count(*) from meanwhile_job where state = 1 and queue = ?1 and limit_key is not null and limit_key = key) from w

-- name: lane_has
-- Returns those of several lanes that have a due job of the priority ?2. n only numbers the parameters, as above.
with n as (select ?1, ?2, ?3), w (key) as (values {(?)})
select key from w where exists (select 1 from meanwhile_waiting x where x.queue = ?1 and x.key = w.key and x.priority = ?2 and x.run_at <= ?3)

-- name: lane_has_plain
select 1 from meanwhile_job where state = 0 and queue = ?1 and limit_key is null and priority = ?2 and run_at <= ?3 limit 1

-- name: lane_take
-- Returns those of the listed jobs, which waited when their lanes were read, that are still queued.
select $due, queue, priority from meanwhile_job where +state = 0 and seq in ({?})

-- name: lane_take_range
select $due, queue, priority from meanwhile_job where +state = 0 and seq between ?1 and ?2

-- name: lane_take_kinds
select $due from (
    select seq as waiting_seq, run_at as waiting_at, id as waiting_id from meanwhile_waiting where queue = ?1 and key = ?6 and priority = ?2 and run_at <= ?3
) cross join meanwhile_job on seq = waiting_seq
where +state = 0 and +queue = ?1 and +priority = ?2 and +run_at = waiting_at and (?4 is null or class in (select value from json_each(?4)))
order by waiting_at, waiting_id
limit ?5

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
-- The costs of the jobs that lane_take_kinds returns.
select coalesce(json_extract(options, '$.cost'), 0) from (
    select seq as waiting_seq, run_at as waiting_at, id as waiting_id from meanwhile_waiting where queue = ?1 and key = ?6 and priority = ?2 and run_at <= ?3
) cross join meanwhile_job on seq = waiting_seq
where +state = 0 and +queue = ?1 and +priority = ?2 and +run_at = waiting_at and (?4 is null or class in (select value from json_each(?4)))
order by waiting_at, waiting_id
limit ?5

-- name: lane_cost_plain
-- The costs of the jobs that claim_due returns.
select coalesce(json_extract(options, '$.cost'), 0) from meanwhile_job
where state = 0 and queue = ?1 and limit_key is null and priority = ?2 and run_at <= ?3
    and (?4 is null or class in (select value from json_each(?4)))
order by run_at, id
limit ?5

-- name: lane_cost_first
-- The cost of the job that lane_take_first returns.
select coalesce(json_extract(options, '$.cost'), 0) from meanwhile_job
where seq = (
    select seq from meanwhile_job
    where state = 0 and queue = ?1 and limit_key is not null and limit_key = ?6 order by created, id limit 1
) and priority = ?2 and run_at <= ?3 and (?4 is null or class in (select value from json_each(?4))) and not exists (
    select 1 from meanwhile_holder h where h.queue = ?1 and h.key = ?6 and (h.created, h.id) < (meanwhile_job.created, meanwhile_job.id)
)
limit ?5

-- name: lane_queue
update meanwhile_queue set free = ?2, paid = ?3 where id = ?1

-- name: lane_queue_running
select coalesce(sum(n.n), 0) from meanwhile_class c join meanwhile_count n on n.class = c.id and n.state = 1 where c.queue = ?1

-- name: lane_book
insert into meanwhile_lane (queue, key, paid, idle) values (?1, ?2, ?3, ?4) on conflict do update set paid = excluded.paid, idle = excluded.idle

-- name: lane_book_queue
update meanwhile_queue set paid = ?2 where id = ?1

-- name: lane_of
-- The queue and the limit key of a running job, if the session holds it, unless it is to be queued (?4) although it is to be canceled.
select q.name, j.limit_key, q.id from meanwhile_job j join meanwhile_queue q on q.id = j.queue
where j.state = 1 and j.attempt = ?2 and j.session = ?3 and j.id = ?1 and not (?4 and j.cancel)

-- name: throttle_queue
update meanwhile_queue set held = max(held, ?2) where id = ?1

-- name: throttle_lane
insert into meanwhile_lane (queue, key, held, idle) values (?1, ?2, ?3, ?3)
on conflict do update set held = max(held, excluded.held), idle = max(idle, excluded.held)

-- name: throttle_end
update meanwhile_queue set held = 0 where name = ?1 and held > 0

-- name: throttle_end_lanes
update meanwhile_lane set held = 0 where queue = (select id from meanwhile_queue where name = ?1) and held > 0

-- name: limits_set
update meanwhile_queue set limits = ?2, free = case when ?3 then 0 else free end, paid = case when ?4 then 0 else paid end where name = ?1

-- name: limits_release
delete from meanwhile_holder where queue = (select id from meanwhile_queue where name = ?1)

-- name: limits_rates
-- Resets lanes without limits of their own: with ?2 their rate of starts, with ?3 their rate of units.
update meanwhile_lane as l set free = case when ?2 and o.key is null then 0 else l.free end, paid = case when ?3 and o.key is null then 0 else l.paid end
from meanwhile_lane m left join meanwhile_override o on o.queue = m.queue and o.key = m.key
where m.queue = ?1 and l.queue = m.queue and l.key = m.key

-- name: override_rates
update meanwhile_lane set free = case when ?3 then 0 else free end, paid = case when ?4 then 0 else paid end where queue = ?1 and key = ?2

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
