-- Limits of queues, and the lanes that they are kept by: the queued jobs of a queue that have one limit key, or none.

alter table meanwhile_job add column limit_key text generated always as (json_extract(options, '$.limit_key[0]')) virtual;

-- Queued jobs with a key are claimed by lane, the others as before.
drop index meanwhile_job_queued;
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class) where state = 0 and limit_key is null;
create index meanwhile_job_lane on meanwhile_job (queue, limit_key, priority, run_at, id) where state = 0 and limit_key is not null;
create index meanwhile_job_keyed on meanwhile_job (queue, run_at, id, class) where state = 0 and limit_key is not null;
create index meanwhile_job_running_lane on meanwhile_job (queue, limit_key) where state = 1 and limit_key is not null;

alter table meanwhile_queue add column limits text;
alter table meanwhile_queue add column turn integer not null default 0;
alter table meanwhile_queue add column free integer not null default 0;

-- The key of jobs without one is ''. The priority is 0 while no job of the lane may start; lanes with the lowest turn come first;
-- free is what is kept of a rate; wake is when to look again, 0 for at once.
create table meanwhile_lane (
    queue    integer not null,
    key      text    not null,
    priority integer not null default 0,
    turn     integer not null default 0,
    free     integer not null default 0,
    wake     integer,
    primary key (queue, key)
) without rowid;
create index meanwhile_lane_open on meanwhile_lane (queue, priority, turn) where priority > 0;
create index meanwhile_lane_wake on meanwhile_lane (queue, wake) where wake is not null;

-- Whatever becomes of an unfinished job with a key: the next claim looks at its lane again.
create trigger meanwhile_job_lane_insert after insert on meanwhile_job when new.limit_key is not null
begin
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 0) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_lane_update after update of state, queue, priority, run_at on meanwhile_job
when old.limit_key is not null and (old.state < 2 or new.state < 2)
begin
    insert into meanwhile_lane (queue, key, wake) values (old.queue, old.limit_key, 0) on conflict do update set wake = 0;
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 0) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_lane_delete after delete on meanwhile_job when old.limit_key is not null and old.state < 2
begin
    insert into meanwhile_lane (queue, key, wake) values (old.queue, old.limit_key, 0) on conflict do update set wake = 0;
end;
