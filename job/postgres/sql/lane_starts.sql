-- Writes what is kept of the rate of starts of the queue $1, which the claim holds the lock of.
update meanwhile.queues set free = $2 where queue = $1
