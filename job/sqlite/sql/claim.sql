-- name: claim_priority
select priority from meanwhile_job where state = 0 and queue = ?1 and limit_key is null and priority < ?2 order by priority desc limit 1

-- name: claim_classes
select id, kind from meanwhile_class where queue = ?1

-- name: due
-- The columns of a due job. Each column costs time for each job, so values that most jobs have are returned as null.
seq, id, class, run_at, cast(args as blob), nullif(created, run_at), nullif(max_attempts, 20),
    case when attempt > 0 or spared > 0 or died > 0 or unique_for is not null then format('%d %d %d %d', attempt, spared, died, ifnull(unique_for, -1)) end,
    unique_key, detail, options, limit_key

-- name: claim_due
-- Statements that run often cast their limit: SQLite plans by the value of a limit that is a plain parameter, and prepares the statement again when
-- the parameter is set, which costs 30 microseconds.
select $due from meanwhile_job
where state = 0 and queue = ?1 and limit_key is null and priority = ?2 and run_at <= ?3
    and (?4 is null or class in (select value from json_each(?4)))
order by run_at, id
limit cast(?5 as integer)

-- name: claim_next
select run_at from meanwhile_job where state = 0 and queue = ?1 and limit_key is null and priority = ?2 and run_at > ?3 order by run_at limit 1

-- name: claim_expired
select $job from meanwhile_job where seq in (
    select seq from meanwhile_job
    where state = 1 and limit_key is null and queue = ?1 and session not in (select id from meanwhile_session where lease_until > ?2)
    union all
    select seq from meanwhile_job
    where state = 1 and limit_key is not null and queue = ?1 and session not in (select id from meanwhile_session where lease_until > ?2)
) and (?3 is null or class in (select value from json_each(?3)))
order by priority desc, run_at, id limit cast(?4 as integer)

-- name: claim_again
select $job from meanwhile_job where seq in (
    select seq from meanwhile_job indexed by meanwhile_job_running where state = 1 and limit_key is null and session = ?1
    union all
    select seq from meanwhile_job indexed by meanwhile_job_running_lane where state = 1 and limit_key is not null and session = ?1
) and call >= ?2 order by priority desc, run_at, id

-- name: claim_take
update or fail meanwhile_job
set state = 1, attempt = attempt + 1, started = ?1, worker = ?2, session = ?3, call = ?4, cancel = 0
where seq in ({?})

-- name: claim_take_expired
update or fail meanwhile_job
set attempt = attempt + 1, died = died + 1, started = ?1, worker = ?2, session = ?3, call = ?4
where seq in ({?})

-- name: claim_take_range
update or fail meanwhile_job
set state = 1, attempt = attempt + 1, started = ?1, worker = ?2, session = ?3, call = ?4, cancel = 0
where seq between ?5 and ?6
