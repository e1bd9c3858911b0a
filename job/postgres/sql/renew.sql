-- Sets the leases of the jobs $2 of the worker $1 to $3 from now and notes what it says of itself, $4. It returns those that
-- are lost, with true, and those that are to be canceled, with false. Rows that are locked are left out.
with held as materialized (
    select id from meanwhile.running where id = any ($2::uuid[]) and worker = $1 for update skip locked
), renewed as (
    update meanwhile.running r set lease_until = now() + $3::interval from held h where r.id = h.id
), seen as (
    insert into meanwhile.workers (worker, info, seen) values ($1, $4, now())
    on conflict (worker) do update set info = excluded.info, seen = excluded.seen
)
select j.id, true
from unnest($2::uuid[]) j(id) left join meanwhile.running r on r.id = j.id and r.worker = $1
where r.id is null
union all
select id, false from meanwhile.running where worker = $1 and cancel_requested
