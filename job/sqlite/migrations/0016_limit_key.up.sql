-- readable from 16
-- The limit key is a column of its own and no longer part of the options: as an expression over those it was computed again for each index that has
-- it, whenever a job was claimed or finished. A running job is in one index, by its session or by its limit key. The index of what runs in order
-- is made when a queue first asks for it, see lane_order.
drop trigger meanwhile_job_lane_insert;
drop trigger meanwhile_job_lane_update;
drop trigger meanwhile_job_lane_delete;
drop trigger meanwhile_job_hold;
drop trigger meanwhile_job_release_update;
drop trigger meanwhile_job_release_delete;
drop index meanwhile_job_queued;
drop index meanwhile_job_lane;
drop index meanwhile_job_keyed;
drop index meanwhile_job_in_order;
drop index meanwhile_job_running;
drop index meanwhile_job_running_lane;
alter table meanwhile_job drop column limit_key;
alter table meanwhile_job add column limit_key text;
update meanwhile_job set limit_key = json_extract(options, '$.limit_key[0]'), options = nullif(json_remove(options, '$.limit_key'), json_object())
where options is not null and json_extract(options, '$.limit_key[0]') is not null;
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class) where state = 0 and limit_key is null;
create index meanwhile_job_lane on meanwhile_job (queue, limit_key, priority, run_at, id) where state = 0 and limit_key is not null;
create index meanwhile_job_keyed on meanwhile_job (queue, run_at, id, class) where state = 0 and limit_key is not null;
create index meanwhile_job_running on meanwhile_job (queue, session) where state = 1 and limit_key is null;
create index meanwhile_job_running_lane on meanwhile_job (queue, limit_key, session) where state = 1 and limit_key is not null;

-- A lane of a first job is marked by 1 to 9, and one that was there by 0: a claim looks at all that were there, and at as many new ones as it may
-- take jobs, those with the highest priorities first.
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
