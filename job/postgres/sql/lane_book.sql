-- Writes the state of the rate of units of the queue $1, $2, and of its lanes $3, $4, which is kept until $5.
with q as (
    update meanwhile.queues set paid = $2 where queue = $1
), t as (
    insert into meanwhile.touched (queue, key) select $1, unnest($3::text[])
)
insert into meanwhile.lanes as l (queue, key, paid, idle)
select $1, w.key, w.paid, w.idle from unnest($3::text[], $4::timestamptz[], $5::timestamptz[]) w(key, paid, idle)
on conflict (queue, key) do update set paid = excluded.paid, idle = greatest(l.idle, excluded.idle)
