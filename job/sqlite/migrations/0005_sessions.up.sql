-- One lease holds all jobs that a worker process runs: they carry the number of its session, and one row is renewed instead of
-- each of theirs. The session 0 is nobody's: a job of it is one whose lease has run out.
create table meanwhile_session (
    id          integer primary key,
    worker      text    not null,
    lease_until integer not null,
    from_call   integer not null default 0
);

-- What runs now is held as long as before, each worker's by one session.
insert into meanwhile_session (worker, lease_until)
select worker, max(lease_until) from meanwhile_job where state = 1 group by worker;

-- The column of the lease becomes that of the session: to drop one would write the whole table anew.
drop index meanwhile_job_running;
drop index meanwhile_job_cancel;
alter table meanwhile_job rename column lease_until to session;
alter table meanwhile_job add column call integer;
update meanwhile_job set session = (select s.id from meanwhile_session s where s.worker = meanwhile_job.worker), call = 0 where state = 1;
create index meanwhile_job_running on meanwhile_job (queue, session) where state = 1;
create index meanwhile_job_cancel on meanwhile_job (session) where state = 1 and cancel = 1;
