drop index meanwhile_job_failed;
