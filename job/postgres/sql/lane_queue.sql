-- Writes the state of the rates of the queue $1, $2 and $3, and the upper bound of its running jobs, $4.
update meanwhile.queues set free = $2, paid = $3, most = $4 where queue = $1
