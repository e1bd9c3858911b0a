-- The queues and limit keys of the jobs $2 with the attempts $3 that the session $1 holds, and their indexes in $2. It locks the jobs in the order of
-- their IDs, as Settle does.
select r.queue, coalesce(r.limit_key, ''), o.n - 1
from meanwhile.running r join unnest($2::uuid[], $3::int[]) with ordinality o(id, attempt, n) on r.id = o.id and r.attempt = o.attempt
where r.session = $1
order by r.id for update of r
