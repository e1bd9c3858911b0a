drop index meanwhile_job_running;
drop index meanwhile_job_cancel;
alter table meanwhile_job drop column call;
alter table meanwhile_job rename column session to lease_until;
update meanwhile_job set lease_until = ifnull((select s.lease_until from meanwhile_session s where s.id = meanwhile_job.lease_until), 0)
where state = 1;
create index meanwhile_job_running on meanwhile_job (queue, lease_until) where state = 1;
create index meanwhile_job_cancel on meanwhile_job (worker) where state = 1 and cancel = 1;
drop table meanwhile_session;
