-- Locks the queue $1 for a claim from its lanes, and returns its state and the time.
insert into meanwhile.queues as q (queue, paused) values ($1, false)
on conflict (queue) do update set paused = q.paused
returning paused, limits, free, held, paid, overrides, clock_timestamp()
