-- readable from 6
-- To list the queued jobs that have failed before, which are few, however many others are queued.
create index meanwhile_job_failed on meanwhile_job (id) where state = 0 and attempt > spared;
