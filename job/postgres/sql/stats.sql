-- The statistics since $1, of the queue $2 and the kind $3; null is no bound. The rows of a minute are joined to one text: thousands of rows cost
-- more than their content.
select texts from (
    select minute, 1 as place, string_agg(stat, E'\n') texts from meanwhile.stats
    where minute >= $1 and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
    group by minute
    union all
    select began, 0, string_agg(stat, E'\n') from meanwhile.past
    where began >= $1 and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
    group by began
) t
order by minute, place
