-- A unique key began with the kind and a colon. As kinds may have colons, those of two kinds could be one: "a" with "b:c" and
-- "a:b" with "c". Now a space is between the two, which no kind has. The table gets another name, so that programs of before,
-- which would go on with the colon, are told that the schema does not fit.
lock table meanwhile.keys, meanwhile.queued, meanwhile.running, meanwhile.finished in access exclusive mode;

create table meanwhile.unique_keys (
    key     text collate "C" not null primary key,
    id      uuid not null,
    free_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Of a job that was pruned, whose key is held for a while, the kind is not known: it may end at any of the colons. Each of
-- these keys is held, as they were one until now.
with job as (
    select id, kind, unique_key from meanwhile.queued where unique_key is not null
    union all
    select id, kind, unique_key from meanwhile.running where unique_key is not null
    union all
    select id, kind, unique_key from meanwhile.finished where unique_key is not null
)
insert into meanwhile.unique_keys (key, id, free_at)
select j.kind || ' ' || substr(k.key, length(j.kind) + 2), k.id, k.free_at
from meanwhile.keys k join job j on j.id = k.id and j.unique_key = k.key
union all
select left(k.key, at - 1) || ' ' || substr(k.key, at + 1), k.id, k.free_at
from meanwhile.keys k cross join lateral generate_series(2, length(k.key)) at
where substr(k.key, at, 1) = ':' and strpos(left(k.key, at - 1), ' ') = 0
    and not exists (select from job j where j.id = k.id and j.unique_key = k.key);

drop table meanwhile.keys;
create index keys_free on meanwhile.unique_keys (free_at) where free_at is not null;

update meanwhile.queued set unique_key = kind || ' ' || substr(unique_key, length(kind) + 2) where unique_key is not null;
update meanwhile.running set unique_key = kind || ' ' || substr(unique_key, length(kind) + 2) where unique_key is not null;
update meanwhile.finished set unique_key = kind || ' ' || substr(unique_key, length(kind) + 2) where unique_key is not null;
