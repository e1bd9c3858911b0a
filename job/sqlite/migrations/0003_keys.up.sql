-- A unique key began with the kind and a colon. As kinds may have colons, those of two kinds could be one: "a" with "b:c" and
-- "a:b" with "c". Now a space is between the two, which no kind has.

create table meanwhile_key_moved (
    key   text not null,
    job   blob not null,
    until integer
);

insert into meanwhile_key_moved
select c.kind || ' ' || substr(k.key, length(c.kind) + 2), k.job, k.until
from meanwhile_key k
    join meanwhile_job j on j.id = k.job and j.unique_key = k.key
    join meanwhile_class c on c.id = j.class;

-- Of a job that was pruned, whose key is held for a while, the kind is not known: it may end at any of the colons. Each of
-- these keys is held, as they were one until now.
with recursive cut (key, job, until, at) as (
    select key, job, until, instr(key, ':')
    from meanwhile_key k
    where not exists (select 1 from meanwhile_job j where j.id = k.job and j.unique_key = k.key)
    union all
    select key, job, until, at + instr(substr(key, at + 1), ':') from cut where instr(substr(key, at + 1), ':') > 0
)
insert into meanwhile_key_moved
select substr(key, 1, at - 1) || ' ' || substr(key, at + 1), job, until
from cut where at > 1 and instr(substr(key, 1, at - 1), ' ') = 0;

delete from meanwhile_key;
insert into meanwhile_key select key, job, until from meanwhile_key_moved;
drop table meanwhile_key_moved;

update meanwhile_job
set unique_key = (
    select c.kind || ' ' || substr(unique_key, length(c.kind) + 2) from meanwhile_class c where c.id = meanwhile_job.class
)
where unique_key is not null;
