-- name: stat_keep
insert into meanwhile_stat (minute, worker, run, queue, kind, total, stat) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict do update set total = excluded.total, stat = excluded.stat where excluded.total >= total

-- name: stats
-- The statistics since ?1, of the queue ?2 and the kind ?3; null is no bound. The rows of a minute are joined to one text: thousands of rows cost more
-- than their content.
select group_concat(stat, char(10)), minute, 1 from meanwhile_stat
where minute >= ?1 and (?2 is null or queue = ?2) and (?3 is null or kind = ?3)
group by minute
union all
select group_concat(stat, char(10)), began, 0 from meanwhile_past
where began >= ?1 and (?2 is null or queue = ?2) and (?3 is null or kind = ?3)
group by began
order by 2, 3

-- name: stat_oldest
select min(minute) from meanwhile_stat

-- name: stat_old
-- The rows of the span that starts at ?1, and those of minutes before ?2.
select stat from meanwhile_past where began = ?1
union all
select stat from meanwhile_stat where minute < ?2

-- name: stat_delete
delete from meanwhile_stat where minute < ?1

-- name: past_keep
insert into meanwhile_past (began, queue, kind, stat) values (?1, ?2, ?3, ?4)
on conflict do update set stat = excluded.stat

-- name: past_prune
delete from meanwhile_past where began < ?1
