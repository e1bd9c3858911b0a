-- readable from 16
-- The index has the class too, so that a list of those of a rare kind that have failed before reads no others.
drop index meanwhile_job_failed;
create index meanwhile_job_failed on meanwhile_job (id, class) where state = 0 and attempt > spared;
