update meanwhile.crons set job = null where cron = $1
