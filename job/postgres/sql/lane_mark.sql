-- Appends the change $5 of the lanes $4 to those of the queue $1, whose lock is held, with the number $2 and the tag $3; see meanwhile.changes.
with q as (
    update meanwhile.queues set changed = $2 where queue = $1
), gone as (
    delete from meanwhile.changes where queue = $1 and n = $2 - 1000
)
insert into meanwhile.changes (queue, n, tag, keys, priority) values ($1, $2, $3, $4, $5)
