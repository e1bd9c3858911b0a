-- Notes the cron $1 with the spec $2 and the next tick $4. The last tick of a new one is $3, or now.
insert into meanwhile.crons (cron, spec, last, next, noted) values ($1, $2, coalesce($3::timestamptz, now()), $4, now())
on conflict (cron) do update set spec = excluded.spec, next = excluded.next, noted = excluded.noted
