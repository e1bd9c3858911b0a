-- readable from 18
-- Lanes are kept in memory by each process that claims. The file has what they are made of again: the waiting jobs of each lane, what rates and
-- throttling say of it, and what has changed. No index of jobs by limit key changes when a job is claimed.
drop trigger meanwhile_job_lane_insert;
drop trigger meanwhile_job_lane_update;
drop trigger meanwhile_job_lane_delete;
drop trigger meanwhile_job_release_delete;
drop index meanwhile_job_lane;

-- Each queued job with a limit key is here. So may be one that was claimed: who claimed it removes it later, with others of its lane.
create table meanwhile_waiting (
    queue    integer not null,
    key      text    not null,
    priority integer not null,
    run_at   integer not null,
    id       blob    not null,
    seq      integer not null,
    primary key (queue, key, priority desc, run_at, id)
) without rowid;
insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
select queue, limit_key, priority, run_at, id, seq from meanwhile_job
where state = 0 and limit_key is not null
order by queue, limit_key, priority desc, run_at, id;

-- The last changes of lanes, without gaps: of the lane of a key, or of all of a queue where it is null. The priority is that of a new job, due at run_at; 0
-- where a job has ended; null otherwise.
create table meanwhile_change (
    n        integer primary key,
    queue    integer not null,
    key      text,
    priority integer,
    run_at   integer
);

-- What rates and throttling say of a lane, until idle: from then on it is as if they said nothing.
create table meanwhile_lane_kept (
    queue integer not null,
    key   text    not null,
    free  integer not null default 0,
    paid  integer not null default 0,
    held  integer not null default 0,
    idle  integer not null,
    primary key (queue, key)
) without rowid;
insert into meanwhile_lane_kept (queue, key, free, paid, held, idle)
select queue, key, free, paid, held, max(free + 50000, paid + 50000, held) from meanwhile_lane where key > '' and max(free, paid, held) > 0;
drop table meanwhile_lane;
alter table meanwhile_lane_kept rename to meanwhile_lane;
create index meanwhile_lane_idle on meanwhile_lane (queue, idle);

-- Whether a key of the queue was ever found at capacity: then the end of each job is a change.
alter table meanwhile_queue add column at_capacity integer not null default 0;
alter table meanwhile_queue drop column turn;

create trigger meanwhile_job_lane_insert after insert on meanwhile_job when new.limit_key is not null
begin
    insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
    values (new.queue, new.limit_key, new.priority, new.run_at, new.id, new.seq);
    insert into meanwhile_change (queue, key, priority, run_at) values (new.queue, new.limit_key, new.priority, new.run_at);
end;
create trigger meanwhile_job_lane_update after update of queue, priority, run_at on meanwhile_job
when old.limit_key is not null and (old.state < 2 or new.state < 2)
begin
    delete from meanwhile_waiting
    where queue = old.queue and key = old.limit_key and priority = old.priority and run_at = old.run_at and id = old.id;
    insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
    select new.queue, new.limit_key, new.priority, new.run_at, new.id, new.seq where new.state = 0
    on conflict do nothing;
    insert into meanwhile_change (queue, key, priority)
    values (old.queue, old.limit_key, iif(old.state = 1 and new.state >= 2, 0, null));
    insert into meanwhile_change (queue, key) select new.queue, new.limit_key where new.queue <> old.queue;
end;
create trigger meanwhile_job_lane_delete after delete on meanwhile_job when old.limit_key is not null and old.state < 2
begin
    delete from meanwhile_waiting
    where queue = old.queue and key = old.limit_key and priority = old.priority and run_at = old.run_at and id = old.id;
    insert into meanwhile_change (queue, key) values (old.queue, old.limit_key);
end;
create trigger meanwhile_job_release_delete after delete on meanwhile_job when old.state = 4 and old.limit_key is not null
begin
    insert into meanwhile_change (queue, key) select old.queue, old.limit_key where exists (
        select 1 from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id
    );
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
