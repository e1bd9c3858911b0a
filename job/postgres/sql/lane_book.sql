-- Writes what is kept of the rate of units of the queue $1, $2, and that of its lanes $3, $4, which the next claim looks at again.
with q as (
    update meanwhile.queues set paid = $2 where queue = $1
)
insert into meanwhile.lanes (queue, key, priority, turn, paid, wake)
select $1, w.key, 0, 0, w.paid, now() from unnest($3::text[], $4::timestamptz[]) w(key, paid)
on conflict (queue, key) do update set paid = excluded.paid, wake = excluded.wake
