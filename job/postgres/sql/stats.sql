-- The statistics since $1, of the queue $2 and the kind $3; null is no bound.
select minute, worker, queue, kind, stat from meanwhile.stats
where minute >= $1 and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
union all
select began, '', queue, kind, stat from meanwhile.past
where began >= $1 and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
order by 1, 2, 3, 4
