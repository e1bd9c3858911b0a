update meanwhile.crons set job = $2 where cron = $1
