-- Pauses the cron $1, or resumes it: then the ticks until now are skipped.
update meanwhile.crons set last = case when paused and not $2 then greatest(last, now()) else last end, paused = $2
where cron = $1 returning '00000000-0000-0000-0000-000000000000'::uuid
