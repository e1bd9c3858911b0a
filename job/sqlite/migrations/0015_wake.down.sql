drop trigger meanwhile_job_lane_update;
drop trigger meanwhile_job_hold;
drop trigger meanwhile_job_release_update;
create trigger meanwhile_job_lane_update after update of state, queue, priority, run_at on meanwhile_job
when old.limit_key is not null and (old.state < 2 or new.state < 2)
begin
    insert into meanwhile_lane (queue, key, wake) values (old.queue, old.limit_key, 0) on conflict do update set wake = 0;
    insert into meanwhile_lane (queue, key, wake) values (new.queue, new.limit_key, 0) on conflict do update set wake = 0;
end;
create trigger meanwhile_job_hold after update of state on meanwhile_job
when new.state = 4 and old.state <> 4 and new.limit_key is not null and exists (
    select 1 from meanwhile_queue where id = new.queue and json_extract(limits, '$.each_key.hold_on_discard')
)
begin
    insert or ignore into meanwhile_holder (queue, key, created, id) values (new.queue, new.limit_key, new.created, new.id);
end;
create trigger meanwhile_job_release_update after update of state on meanwhile_job
when old.state = 4 and new.state <> 4 and old.limit_key is not null
begin
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
