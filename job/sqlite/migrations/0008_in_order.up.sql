-- readable from 6
-- Of the queued jobs with one limit key, the first in the order of their creation.
create index meanwhile_job_in_order on meanwhile_job (queue, limit_key, created, id) where state = 0 and limit_key is not null;
