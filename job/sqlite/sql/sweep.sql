-- name: sweep_queue
-- The first queue from ?1 on that has limits, or waiting or queued jobs with limit keys.
select id, name from meanwhile_queue q
where id >= ?1 and (
    limits is not null or exists (select 1 from meanwhile_waiting w where w.queue = q.id)
    or exists (select 1 from meanwhile_job j where j.state = 0 and j.queue = q.id and j.limit_key is not null)
)
order by id limit 1

-- name: sweep_keys
-- The distinct keys of waiting jobs that come after ?2.
with recursive k(key) as (
    select (select key from meanwhile_waiting where queue = ?1 and key > ?2 order by key limit 1)
    union all
    select (select w.key from meanwhile_waiting w where w.queue = ?1 and w.key > k.key order by w.key limit 1) from k where k.key is not null
)
select key from k where key is not null limit ?3

-- name: sweep_jobs
-- Of the queued jobs with limit keys that are due after the job (?2, ?3), the one at offset ?4.
select run_at, id from meanwhile_job
where state = 0 and limit_key is not null and queue = ?1 and (run_at, id) > (?2, ?3) order by run_at, id limit 1 offset ?4

-- name: sweep_missing
-- The queued jobs with limit keys that are due after the job (?2, ?3), up to (?4, ?5), and have no row in meanwhile_waiting.
select seq, limit_key from meanwhile_job j
where state = 0 and limit_key is not null and queue = ?1 and (run_at, id) > (?2, ?3) and (run_at, id) <= (?4, ?5) and not exists (
    select 1 from meanwhile_waiting w
    where w.queue = j.queue and w.key = j.limit_key and w.priority = j.priority and w.run_at = j.run_at and w.id = j.id
)

-- name: sweep_add
insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
select queue, limit_key, priority, run_at, id, seq from meanwhile_job where seq = ?1

-- name: sweep_running
-- The classes of a queue whose stored number of running jobs is wrong, with the stored and the actual number.
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
