-- Writes the details $4 of those of the jobs $2 with the attempts $3 that the session $1 holds. It returns the jobs that it does not hold.
with outcome as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[]) o(id, attempt, detail)
), written as (
    update meanwhile.running r set detail = o.detail from outcome o
    where r.id = o.id and r.attempt = o.attempt and r.session = $1
    returning r.id
)
select id from outcome except all select id from written
