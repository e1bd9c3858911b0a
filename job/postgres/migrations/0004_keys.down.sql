-- Of keys that become one, that of an unfinished job stays, else the one that is held longest.
lock table meanwhile.unique_keys, meanwhile.queued, meanwhile.running, meanwhile.finished in access exclusive mode;

create table meanwhile.keys (
    key     text collate "C" not null primary key,
    id      uuid not null,
    free_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

insert into meanwhile.keys (key, id, free_at)
select overlay(key placing ':' from strpos(key, ' ') for 1), id, free_at
from meanwhile.unique_keys
order by free_at desc nulls first, id
on conflict (key) do nothing;

drop table meanwhile.unique_keys;
create index keys_free on meanwhile.keys (free_at) where free_at is not null;

update meanwhile.queued set unique_key = overlay(unique_key placing ':' from strpos(unique_key, ' ') for 1)
where unique_key is not null;
update meanwhile.running set unique_key = overlay(unique_key placing ':' from strpos(unique_key, ' ') for 1)
where unique_key is not null;
update meanwhile.finished set unique_key = overlay(unique_key placing ':' from strpos(unique_key, ' ') for 1)
where unique_key is not null;
