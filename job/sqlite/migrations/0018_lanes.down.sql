drop trigger meanwhile_job_lane_insert;
drop trigger meanwhile_job_lane_update;
drop trigger meanwhile_job_lane_delete;
drop trigger meanwhile_job_release_delete;
alter table meanwhile_queue drop column at_capacity;
alter table meanwhile_queue add column turn integer not null default 0;
create table meanwhile_lane_marked (
    queue    integer not null,
    key      text    not null,
    priority integer not null default 0,
    turn     integer not null default 0,
    free     integer not null default 0,
    wake     integer,
    held     integer not null default 0,
    paid     integer not null default 0,
    served   integer not null default 0,
    primary key (queue, key)
) without rowid;
insert into meanwhile_lane_marked (queue, key, free, wake, held, paid) select queue, key, free, 0, held, paid from meanwhile_lane;
insert into meanwhile_lane_marked (queue, key, wake)
select distinct queue, limit_key, 0 from meanwhile_job where state = 0 and limit_key is not null
on conflict do nothing;
drop table meanwhile_lane;
alter table meanwhile_lane_marked rename to meanwhile_lane;
create index meanwhile_lane_open on meanwhile_lane (queue, priority, turn) where priority > 0;
create index meanwhile_lane_wake on meanwhile_lane (queue, wake) where wake is not null;
drop table meanwhile_waiting;
drop table meanwhile_change;
create index meanwhile_job_lane on meanwhile_job (queue, limit_key, priority, run_at, id) where state = 0 and limit_key is not null;

create trigger meanwhile_job_lane_insert after insert on meanwhile_job when new.limit_key is not null
begin
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 10 - new.priority) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_lane_update after update of queue, priority, run_at on meanwhile_job
when old.limit_key is not null and (old.state < 2 or new.state < 2)
begin
    insert into meanwhile_lane (queue, key, wake) values (old.queue, old.limit_key, 0) on conflict do update set wake = 0;
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 0) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_lane_delete after delete on meanwhile_job when old.limit_key is not null and old.state < 2
begin
    insert into meanwhile_lane (queue, key, wake) values (old.queue, old.limit_key, 0) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_release_delete after delete on meanwhile_job when old.state = 4 and old.limit_key is not null
begin
    update meanwhile_lane set wake = 0 where queue = old.queue and key = old.limit_key and exists (
        select 1 from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id
    );
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
