-- readable from 6
-- The discarded jobs that those behind them in their lanes wait for, where the limits of the queue say so.
create table meanwhile_holder (
    queue   integer not null,
    key     text    not null,
    created integer not null,
    id      blob    not null,
    primary key (queue, key, created, id)
) without rowid;

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
create trigger meanwhile_job_release_delete after delete on meanwhile_job when old.state = 4 and old.limit_key is not null
begin
    update meanwhile_lane set wake = 0 where queue = old.queue and key = old.limit_key and exists (
        select 1 from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id
    );
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
