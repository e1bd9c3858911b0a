-- name: insert
insert or fail into meanwhile_job (created, id, class, queue, priority, run_at, max_attempts, unique_key, unique_for, args, options, limit_key)
values {(?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}
