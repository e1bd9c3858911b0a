-- name: renew
update meanwhile_job set lease_until = ?1 where state = 1 and worker = ?2 and id in ({?}) returning id

-- name: renew_canceled
select id from meanwhile_job where state = 1 and cancel = 1 and worker = ?1 order by id

-- name: worker_note
insert into meanwhile_worker (name, seen, info) values (?1, ?2, ?3)
on conflict do update set seen = excluded.seen, info = excluded.info

-- name: worker_leave
delete from meanwhile_worker where name = ?1

-- name: worker_list
select name, seen, info from meanwhile_worker order by name

-- name: worker_prune
delete from meanwhile_worker where seen < ?1
