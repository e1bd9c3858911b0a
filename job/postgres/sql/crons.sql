select cron, spec, last, next, paused, job, noted from meanwhile.crons order by cron collate "C"
