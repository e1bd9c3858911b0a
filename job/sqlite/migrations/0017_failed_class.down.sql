drop index meanwhile_job_failed;
create index meanwhile_job_failed on meanwhile_job (id) where state = 0 and attempt > spared;
