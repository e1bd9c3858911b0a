-- The limits of the queue $1, and how far they are used by it and its key $2.
select q.limits, q.overrides, o.limits, q.free, q.held, q.paid, l.free, l.held, l.paid, (
        select coalesce(sum(n), 0)::bigint from meanwhile.running_counts() where queue = $1
    ),
    (select count(*) from meanwhile.running where queue = $1 and limit_key is not null and limit_key = $2), (
        select j.id from meanwhile.queued j where j.queue = $1 and j.limit_key <> '' and j.limit_key = $2 order by j.created, j.id limit 1
    ), (
        select h.id from meanwhile.holders h where h.queue = $1 and h.key = $2 and not exists (
            select from meanwhile.queued j
            where j.queue = $1 and j.limit_key <> '' and j.limit_key = $2 and (j.created, j.id) < (h.created, h.id)
        ) order by h.created, h.id limit 1
    ), now()
from (select $1::text queue) w left join meanwhile.queues q on q.queue = w.queue collate "C"
    left join meanwhile.lanes l on l.queue = w.queue collate "C" and l.key = $2
    left join meanwhile.overrides o on o.queue = w.queue collate "C" and o.key = $2
