-- name: key_take
insert into meanwhile_key (key, job) values (?1, ?2)
on conflict do update set job = excluded.job, until = null where until <= ?3 or job = excluded.job

-- name: key_holder
select job from meanwhile_key where key = ?1

-- name: key_hold
update meanwhile_key set until = ?3 where key = ?1 and job = ?2

-- name: key_free
delete from meanwhile_key where key = ?1 and job = ?2

-- name: key_prune
delete from meanwhile_key where key in (select key from meanwhile_key where until <= ?1 limit ?2)

-- name: key_state
select state, class from meanwhile_job where id = ?1

-- name: key_give
update meanwhile_key set job = ?2, until = null where key = ?1

-- name: key_replace
-- If ?4 is positive, the job is due at most ?4 after its creation, or at ?5 (now) if that is later; but no earlier than its next attempt, if it has
-- had one.
update meanwhile_job set run_at = iif(?4 > 0, max(min(?2, max(created + ?4, ?5)), iif(attempt > 0, run_at, 0)), ?2), args = ?3 where id = ?1 and state = 0
