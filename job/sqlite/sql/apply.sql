-- name: apply_census
select class, state, count(*) from meanwhile_job where id in ({?}) group by class, state

-- name: apply_keyed
select seq, id, class, unique_key, created + coalesce(unique_for, 0)
from meanwhile_job where state = ?1 and unique_key is not null and id in ({?})

-- name: apply_finish
update meanwhile_job set state = ?1, finished = ?2, run_at = run_at where state = 0 and id in ({?})

-- name: apply_cancel
update meanwhile_job set cancel = 1 where state = 1 and id in ({?})

-- name: apply_delete
delete from meanwhile_job where state = ?1 and id in ({?})

-- name: apply_queued
update meanwhile_job set priority = coalesce(?1, priority), run_at = coalesce(?2, run_at) where state = 0 and id in ({?})

-- name: apply_move
update meanwhile_job set class = ?1, queue = ?2 where state = 0 and class = ?3 and id in ({?})

-- name: apply_retry
update meanwhile_job
set state = 0, finished = null, cancel = 0, spared = iif(?2 is null, spared, attempt), run_at = coalesce(?2, run_at),
    detail = iif(?2 is not null and instr(detail, '"released":'), nullif(json_remove(detail, '$.released'), json_object()), detail)
where state = ?1 and unique_key is null and id in ({?})

-- name: apply_retry_keyed
update meanwhile_job
set state = 0, finished = null, cancel = 0, spared = iif(?2 is null, spared, attempt), run_at = coalesce(?2, run_at),
    detail = iif(?2 is not null and instr(detail, '"released":'), nullif(json_remove(detail, '$.released'), json_object()), detail)
where seq = ?1
