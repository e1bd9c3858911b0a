-- Ends all throttling of the queue $1.
with q as (
    update meanwhile.queues set held = null where queue = $1 returning queue
), t as (
    insert into meanwhile.touched (queue) select queue from q where meanwhile.has_lanes(queue)
)
update meanwhile.lanes l set held = null from q where l.queue = q.queue and l.held is not null
