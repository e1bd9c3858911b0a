drop index meanwhile_job_in_order;
