-- Writes the turn $2 of the queue $1.
update meanwhile.queues set turn = $2, claims = claims + 1 where queue = $1
