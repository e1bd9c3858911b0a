-- name: job
seq, id, class, state, priority, run_at, attempt, spared, died, max_attempts, created, started, finished, worker, cancel,
    unique_key, unique_for, args, detail, options, limit_key

-- name: filter
(?1 >> state & 1 or state = 0 and (?1 >> 5 & 1 and attempt <= spared and run_at > ?2 or ?1 >> 6 & 1 and attempt > spared))
    and (?3 is null or class in (select value from json_each(?3)))
    and (?4 is null or worker = ?4)
    and id < ?5 and id >= ?6
    and (?7 is null or state >= 2 and finished < ?7)
    and (?8 is null or instr(lower(detail), ?8))
    and (?9 is null or instr(args, '\u') or instr(args, ?9) and (?12 is null or instr(args, ?12) or instr(args, ?13)))
    and (?11 is null or options is not null and not exists (select 1 from json_each(?11) where not instr(options, '{' || value) and not instr(options, ',' || value)))
order by id desc
limit ?10

-- name: list_classes
-- The matching classes, each with its queue and the number of all queues.
select c.id, c.queue, (select count(*) from meanwhile_queue) from meanwhile_class c join meanwhile_queue q on q.id = c.queue
where (?1 is null or c.kind in (select value from json_each(?1)))
    and (?2 is null or q.name in (select value from json_each(?2)))

-- name: list_counts
select class, state, n, ?1 is null or class in (select value from json_each(?1)) from meanwhile_count where n > 0

-- name: list_newest
select id from meanwhile_job indexed by meanwhile_job_id where $filter

-- name: list_ids
select id from meanwhile_job where id in (select unhex(value) from json_each(?14)) and (?15 = '' or unique_key = ?15) and $filter

-- name: list_key
select id from meanwhile_job where unique_key = ?14 and $filter

-- name: list_meta_id
select id from meanwhile_job indexed by meanwhile_job_meta_id where json_extract(options, '$.meta.jid') = ?14 and $filter

-- name: list_queued
-- The classes are all in the range ?14 to ?15: nearly all queued jobs are skipped, and comparing a number costs less than looking it up.
select id from meanwhile_job
where seq in (
    select seq from meanwhile_job indexed by meanwhile_job_queued
    where state = 0 and limit_key is null and class between ?14 and ?15
        and (?3 is null or class in (select value from json_each(?3))) and id < ?5 and id >= ?6
    union all
    select seq from meanwhile_job indexed by meanwhile_job_keyed
    where state = 0 and limit_key is not null and class between ?14 and ?15
        and (?3 is null or class in (select value from json_each(?3))) and id < ?5 and id >= ?6
) and $filter

-- name: list_newest_queued
-- The newest ?16 queued jobs that may match according to two indexes, and whether each of them does. The classes are ?14 to ?15. Jobs that wait for
-- another attempt are not searched for.
select j.id, state = 0 and (?1 & 1 or attempt <= spared) from (
    select seq, id from meanwhile_job indexed by meanwhile_job_queued
    where state = 0 and limit_key is null and queue in (select queue from meanwhile_class where ?3 is null or id in (select value from json_each(?3)))
        and $newest_of
    union all
    select seq, id from meanwhile_job indexed by meanwhile_job_keyed
    where state = 0 and limit_key is not null and queue in (select queue from meanwhile_class where ?3 is null or id in (select value from json_each(?3)))
        and $newest_of
    order by id desc limit ?16
) n cross join meanwhile_job j on j.seq = n.seq
order by j.id desc

-- name: newest_of
class between ?14 and ?15 and (?3 is null or class in (select value from json_each(?3)))
        and id < ?5 and id >= ?6 and (?1 & 1 or run_at > ?2)

-- name: list_newest_of_most
-- list_newest_queued for classes that are in most queues: reading all queues together takes two thirds of the time of reading one after the other.
select j.id, state = 0 and (?1 & 1 or attempt <= spared) from (
    select seq, id from meanwhile_job indexed by meanwhile_job_queued
    where state = 0 and limit_key is null
        and $newest_of
    union all
    select seq, id from meanwhile_job indexed by meanwhile_job_keyed
    where state = 0 and limit_key is not null
        and $newest_of
    order by id desc limit ?16
) n cross join meanwhile_job j on j.seq = n.seq
order by j.id desc

-- name: list_failed
select id from meanwhile_job indexed by meanwhile_job_failed where state = 0 and attempt > spared and $filter

-- name: list_running
select id from meanwhile_job
where seq in (
    select seq from meanwhile_job indexed by meanwhile_job_running where state = 1 and limit_key is null
    union all
    select seq from meanwhile_job indexed by meanwhile_job_running_lane where state = 1 and limit_key is not null
) and $filter

-- name: list_archive
select id from meanwhile_job indexed by meanwhile_job_archive
where state >= 2 and class = ?14 and state = ?15 and $filter

-- name: list_read
select $job from meanwhile_job where id in ({?}) order by id desc
