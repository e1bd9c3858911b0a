-- Writes the lanes $2 of the queue $1, and deletes those that $7 says are over.
with w as materialized (
    select * from unnest($2::text[], $3::smallint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::boolean[],
        $8::timestamptz[], $9::int[]) w(key, priority, turn, free, wake, over, paid, served)
), gone as (
    delete from meanwhile.lanes l using w where w.over and l.queue = $1 and l.key = w.key collate "C"
)
insert into meanwhile.lanes (queue, key, priority, turn, free, wake, paid, served)
select $1, key, priority, turn, free, wake, paid, served from w where not over
on conflict (queue, key) do update set priority = excluded.priority, turn = excluded.turn, free = excluded.free, wake = excluded.wake,
    paid = excluded.paid, served = excluded.served
