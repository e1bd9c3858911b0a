-- The queues and limit keys of the jobs $2 with the attempts $3 that the session $1 holds, and their indexes in $2, without those that are to be
-- queued ($4) although they are to be canceled. It locks the jobs in the order of their IDs, as Settle does.
select r.queue, coalesce(r.limit_key, ''), o.n - 1
from meanwhile.running r join unnest($2::uuid[], $3::int[], $4::boolean[]) with ordinality o(id, attempt, queued, n) on r.id = o.id and r.attempt = o.attempt
where r.session = $1 and not (o.queued and r.cancel_requested)
order by r.id for update of r
