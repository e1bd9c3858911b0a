update meanwhile.crons set paused = $2 where cron = $1 returning '00000000-0000-0000-0000-000000000000'::uuid
