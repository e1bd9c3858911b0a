-- Appends the entries $2 with the times $1 (null is now), in their order.
insert into meanwhile.audit (at, entry)
select coalesce(e.at, now()), e.entry from unnest($1::timestamptz[], $2::text[]) with ordinality as e (at, entry, i) order by e.i
