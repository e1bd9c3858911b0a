-- Of keys that become one, that of an unfinished job stays, else any.

create table meanwhile_key_moved (
    key   text not null,
    job   blob not null,
    until integer
);

insert into meanwhile_key_moved
select substr(key, 1, instr(key, ' ') - 1) || ':' || substr(key, instr(key, ' ') + 1), job, until from meanwhile_key;

delete from meanwhile_key;
insert or ignore into meanwhile_key
select key, job, until from meanwhile_key_moved order by until is not null, until desc, job;
drop table meanwhile_key_moved;

update meanwhile_job
set unique_key = substr(unique_key, 1, instr(unique_key, ' ') - 1) || ':' || substr(unique_key, instr(unique_key, ' ') + 1)
where unique_key is not null;
