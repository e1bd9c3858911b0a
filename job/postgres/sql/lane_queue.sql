-- Writes the turn $2 of the queue $1, and what is kept of its rates, $3 and $4, and returns when to look at a lane again, and whether there is one of a key.
update meanwhile.queues set turn = $2, free = $3, paid = $4 where queue = $1
returning (select min(wake) from meanwhile.lanes l where l.queue = $1 and wake is not null),
    exists (select from meanwhile.lanes l where l.queue = $1 and l.key > '')
