-- readable from 6
-- By the ID that another system knows a job by, which few have.
create index meanwhile_job_meta_id on meanwhile_job (json_extract(options, '$.meta.jid'))
where json_extract(options, '$.meta.jid') is not null;
