-- name: change_read
select $job from meanwhile_job where id = ?1

-- name: change_cancel
update meanwhile_job set cancel = ?2 where seq = ?1

-- name: change_write
update meanwhile_job
set state = ?2, class = ?3, queue = ?4, priority = ?5, run_at = ?6, spared = ?7, max_attempts = ?8, cancel = ?9,
    detail = ?10, finished = ?11
where seq = ?1

-- name: change_remove
delete from meanwhile_job where seq = ?1
