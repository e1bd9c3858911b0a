drop index meanwhile_job_queued;
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class) where state = 0 and limit_key is null;
