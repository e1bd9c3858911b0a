-- name: renew_held
select id from meanwhile_job where state = 1 and session = ?1 and id in ({?})

-- name: renew_drop
update meanwhile_job set session = 0 where state = 1 and session = ?1 and id = ?2

-- name: session_find
select lease_until, from_call from meanwhile_session where id = ?1

-- name: session_renew
insert into meanwhile_session (id, worker, lease_until) values (?1, ?2, ?3)
on conflict do update set lease_until = excluded.lease_until

-- name: session_from
update meanwhile_session set from_call = ?2 where id = ?1

-- name: session_end
delete from meanwhile_session where id = ?1

-- name: session_prune
delete from meanwhile_session where lease_until < ?1

-- name: renew_told
-- What the worker ?1 has to know: the jobs of its session ?5 to cancel (0), up to ?4 of them that are watched at ?2, which is now (1), and its
-- commands newer than ?3 (2).
select 0, id, null, null from meanwhile_job where state = 1 and cancel = 1 and session = ?5
union all
select 1, id, null, null from (
    select j.id from meanwhile_watch w cross join meanwhile_job j on j.id = w.job
    where w.until > ?2 and j.state = 1 and j.session = ?5 order by j.id limit ?4
)
union all
select 2, null, seq, word from meanwhile_order where worker = ?1 and made > ?3
order by 1, 3, 2

-- name: worker_note
insert into meanwhile_worker (name, seen, info) values (?1, ?2, ?3)
on conflict do update set seen = excluded.seen, info = excluded.info

-- name: worker_leave
delete from meanwhile_worker where name = ?1

-- name: worker_list
select name, seen, info from meanwhile_worker
where ?1 is null or name in (select value from json_each(?1))
order by name

-- name: worker_prune
delete from meanwhile_worker where seen < ?1
