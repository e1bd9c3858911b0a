drop trigger meanwhile_job_release_delete;
drop trigger meanwhile_job_release_update;
drop trigger meanwhile_job_hold;
drop trigger meanwhile_job_lane_delete;
drop trigger meanwhile_job_lane_update;
drop trigger meanwhile_job_lane_insert;
drop index meanwhile_job_queued;
drop index meanwhile_job_lane;
drop index meanwhile_job_keyed;
drop index if exists meanwhile_job_in_order;
drop index meanwhile_job_running;
drop index meanwhile_job_running_lane;
update meanwhile_job set options = json_set(coalesce(options, json_object()), '$.limit_key', json_array(limit_key)) where limit_key is not null;
alter table meanwhile_job drop column limit_key;
alter table meanwhile_job add column limit_key text generated always as (json_extract(options, '$.limit_key[0]')) virtual;
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class) where state = 0 and limit_key is null;
create index meanwhile_job_lane on meanwhile_job (queue, limit_key, priority, run_at, id) where state = 0 and limit_key is not null;
create index meanwhile_job_keyed on meanwhile_job (queue, run_at, id, class) where state = 0 and limit_key is not null;
create index meanwhile_job_in_order on meanwhile_job (queue, limit_key, created, id) where state = 0 and limit_key is not null;
create index meanwhile_job_running on meanwhile_job (queue, session) where state = 1;
create index meanwhile_job_running_lane on meanwhile_job (queue, limit_key) where state = 1 and limit_key is not null;

create trigger meanwhile_job_lane_insert after insert on meanwhile_job when new.limit_key is not null
begin
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 0) on conflict do update set wake = 0;
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
create trigger meanwhile_job_hold after update of queue, priority, run_at on meanwhile_job
when new.state = 4 and old.state <> 4 and new.limit_key is not null and exists (
    select 1 from meanwhile_queue where id = new.queue and json_extract(limits, '$.each_key.hold_on_discard')
)
begin
    insert or ignore into meanwhile_holder (queue, key, created, id) values (new.queue, new.limit_key, new.created, new.id);
end;
create trigger meanwhile_job_release_update after update of queue, priority, run_at on meanwhile_job
when old.state = 4 and new.state <> 4 and old.limit_key is not null
begin
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
create trigger meanwhile_job_release_delete after delete on meanwhile_job when old.state = 4 and old.limit_key is not null
begin
    update meanwhile_lane set wake = 0 where queue = old.queue and key = old.limit_key and exists (
        select 1 from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id
    );
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
