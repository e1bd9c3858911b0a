-- readable from 18
-- The index has the limit key too, a byte for each job: so SQLite reads no more than the index where it looks through all that is queued.
drop index meanwhile_job_queued;
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class, limit_key) where state = 0 and limit_key is null;
