-- name: settle_finish
-- It sets run_at to its own value so that triggers run, see migration 15. Statements that change the state set run_at, except claim_take,
-- settle_finish_held and their variants for a range.
update meanwhile_job set state = ?1, finished = ?2, detail = null, run_at = run_at
where state = 1 and attempt = ?3 and session = ?4 and id in ({?})
returning id, class, unique_key, unique_for, created

-- name: settle_finish_detail
update meanwhile_job set state = ?1, finished = ?2, detail = ?6, run_at = run_at
where state = 1 and attempt = ?3 and session = ?4 and id = ?5
returning id, class, unique_key, unique_for, created

-- name: settle_running
update meanwhile_job set detail = ?4 where state = 1 and attempt = ?2 and session = ?3 and id = ?1

-- name: settle_class
select class from meanwhile_job where state = 1 and attempt = ?2 and session = ?3 and id = ?1 and cancel = 0

-- name: settle_queue
update meanwhile_job
set state = 0, class = ?2, queue = ?3, priority = ?4, run_at = ?5, spared = ?6, max_attempts = ?7, detail = ?8
where id = ?1

-- name: settle_finish_held
update or fail meanwhile_job set state = ?1, finished = ?2, detail = null
where state = 1 and attempt = ?3 and session = ?4 and seq in ({?})

-- name: settle_finish_range
update or fail meanwhile_job set state = ?1, finished = ?2, detail = null
where state = 1 and attempt = ?3 and session = ?4 and seq between ?5 and ?6
