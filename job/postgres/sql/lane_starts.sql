-- Writes the state of the rate of starts of the queue $1, whose lock the claim holds.
update meanwhile.queues set free = $2 where queue = $1
