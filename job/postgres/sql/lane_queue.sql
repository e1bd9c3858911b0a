-- Writes what is kept of the rates of the queue $1, $2 and $3, and how many of its jobs run at most, $4.
update meanwhile.queues set free = $2, paid = $3, most = $4 where queue = $1
