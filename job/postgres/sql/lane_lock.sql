-- Locks the queue $1 for who claims from its lanes, and returns what is kept of it, and the time.
insert into meanwhile.queues as q (queue, paused) values ($1, false)
on conflict (queue) do update set paused = q.paused
returning paused, limits, free, held, paid, overrides, clock_timestamp()
