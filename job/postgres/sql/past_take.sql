-- Deletes the rows of minutes from $1 to $2, and returns them, after the rows of the span that begins at $1.
with gone as (
    delete from meanwhile.stats where minute >= $1 and minute < $2 returning stat
)
select stat from meanwhile.past where began = $1
union all
select stat from gone
