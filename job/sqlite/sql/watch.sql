-- name: watch_job
select state, attempt from meanwhile_job where id = ?1

-- name: watch
-- If the previous watch is over, the tree that was reported for it is dropped.
insert into meanwhile_watch (job, until) values (?1, ?2)
on conflict (job) do update set
    until = max(until, excluded.until),
    attempt = case when until > ?3 then attempt end,
    at = case when until > ?3 then at end,
    tree = case when until > ?3 then tree end
returning attempt, at, tree

-- name: watch_tree
update meanwhile_watch set attempt = ?3, at = ?4, tree = ?5
where job = ?1 and until > ?4
    and exists (select 1 from meanwhile_job where id = ?1 and state = 1 and session = ?2 and attempt = ?3)

-- name: watch_prune
delete from meanwhile_watch where until <= ?1
