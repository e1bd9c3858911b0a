-- name: insert
insert into meanwhile_job (created, id, class, queue, priority, run_at, max_attempts, unique_key, unique_for, args, options)
values {(?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}
