select minute, worker, queue, kind, stat from meanwhile.stats where minute >= $1
union all
select began, '', queue, kind, stat from meanwhile.past where began >= $1
order by 1, 2, 3, 4
