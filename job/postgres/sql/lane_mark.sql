-- Leaves a change of no lane, with the number $2 and the tag $3, in the queue $1, whose lock is held: by it a process knows that what it knows is of this server.
with q as (
    update meanwhile.queues set changed = $2 where queue = $1
), gone as (
    delete from meanwhile.changes where queue = $1 and n = $2 - 400
)
insert into meanwhile.changes (queue, n, tag, keys) values ($1, $2, $3, '{}')
