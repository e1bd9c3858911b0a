-- The limits of the queue $1, and how far the queue and each of the keys $2 use them, in the order of the keys.
with q as materialized (
    select q.limits, q.overrides, q.free, q.held, q.paid, (
        select coalesce(sum(n), 0)::bigint from meanwhile.running_counts() where queue = $1
    ) running
    from (values (1)) one left join meanwhile.queues q on q.queue = $1 collate "C"
)
select w.key, q.limits, q.overrides, o.limits, q.free, q.held, q.paid, l.free, l.held, l.paid, q.running,
    (select count(*) from meanwhile.running where queue = $1 and limit_key is not null and limit_key = w.key collate "C"), (
        select j.id from meanwhile.queued j where j.queue = $1 and j.limit_key <> '' and j.limit_key = w.key collate "C"
        order by j.created, j.id limit 1
    ), (
        select h.id from meanwhile.holders h where h.queue = $1 and h.key = w.key collate "C" and not exists (
            select from meanwhile.queued j
            where j.queue = $1 and j.limit_key <> '' and j.limit_key = w.key collate "C" and (j.created, j.id) < (h.created, h.id)
        ) order by h.created, h.id limit 1
    ), now()
from q cross join unnest($2::text[]) with ordinality w(key, place)
    left join meanwhile.lanes l on l.queue = $1 collate "C" and l.key = w.key collate "C"
    left join meanwhile.overrides o on o.queue = $1 collate "C" and o.key = w.key collate "C"
order by w.place
