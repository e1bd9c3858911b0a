-- name: stat_keep
insert into meanwhile_stat (minute, worker, run, queue, kind, total, stat) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict do update set total = excluded.total, stat = excluded.stat where excluded.total >= total

-- name: stats
select minute, worker, queue, kind, stat from meanwhile_stat where minute >= ?1 order by minute, worker, queue, kind

-- name: stat_prune
delete from meanwhile_stat where minute < ?1
