-- Writes the turn $2 of the queue $1, what is kept of its rates, $3 and $4, and how many of its jobs run at most, $5, and returns when to look at a lane
-- again, and whether there is one of a key.
update meanwhile.queues set turn = $2, free = $3, paid = $4, claims = claims + 1, most = $5 where queue = $1
returning case when exists (select from meanwhile.noted n where n.queue = $1) then now() else (
        select min(wake) from meanwhile.lanes l where l.queue = $1 and wake is not null
    ) end, exists (select from meanwhile.lanes l where l.queue = $1 and l.key > '')
