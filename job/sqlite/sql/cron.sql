-- name: cron_find
select last, paused from meanwhile_cron where name = ?1

-- name: cron_note
insert into meanwhile_cron (name, spec, next, last, noted) values (?1, ?2, ?3, ?4, ?5)
on conflict do update set spec = excluded.spec, next = excluded.next, last = ifnull(last, excluded.last), noted = excluded.noted

-- name: cron_tick
insert into meanwhile_cron (name, spec, next, last, noted, job) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict do update set spec = excluded.spec, next = excluded.next, last = excluded.last, noted = excluded.noted, job = excluded.job

-- name: cron_noted
update meanwhile_cron set noted = ?2 where name = ?1

-- name: cron_list
select name, spec, last, next, paused, job, noted from meanwhile_cron order by name

-- name: cron_pause
update meanwhile_cron set last = case when paused and not ?2 then max(ifnull(last, 0), ?3) else last end, paused = ?2 where name = ?1

-- name: cron_prune
delete from meanwhile_cron where noted < ?1
