insert into meanwhile.past (began, queue, kind, stat)
select * from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[])
on conflict (began, queue, kind) do update set stat = excluded.stat
