-- Sets the limits of the queue $1 to $2. With $3 and $4 its rate of starts, and those of its keys without limits of their own, start anew; with $5
-- and $6 the rates of units. With $7 discarded jobs no longer hold their keys.
with h as (
    delete from meanwhile.holders where $7 and queue = $1
), w as (
    update meanwhile.lanes l set free = case when $4 and o.key is null then null else l.free end,
        paid = case when $6 and o.key is null then null else l.paid end
    from meanwhile.lanes m left join meanwhile.overrides o on o.queue = m.queue and o.key = m.key
    where m.queue = $1 and l.queue = m.queue and l.key = m.key
), t as (
    insert into meanwhile.touched (queue) select $1 where meanwhile.has_lanes($1)
)
update meanwhile.queues set limits = $2, most = null, free = case when $3 then null else free end, paid = case when $5 then null else paid end where queue = $1
