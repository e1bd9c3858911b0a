drop index meanwhile_job_meta_id;
