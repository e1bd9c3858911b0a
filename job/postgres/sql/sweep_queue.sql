-- The first queue after $1 that has limits, lanes or queued jobs with limit keys.
select q.queue from meanwhile.queues q
where q.queue > $1 and (
    q.limits is not null or exists (select from meanwhile.lanes l where l.queue = q.queue and l.key > '')
    or exists (select from meanwhile.queued j where j.queue = q.queue and j.limit_key is not null)
)
order by q.queue limit 1
