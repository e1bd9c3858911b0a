-- Writes the state of the rates of the lanes $2 of the queue $1, $3 and $4, which is kept until $5.
insert into meanwhile.lanes (queue, key, free, paid, idle)
select $1, w.key, w.free, w.paid, w.idle from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[]) w(key, free, paid, idle)
on conflict (queue, key) do update set free = excluded.free, paid = excluded.paid, idle = greatest(lanes.held, excluded.idle)
