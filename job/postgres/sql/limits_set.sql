-- Sets the limits of the queue $1 to $2. With $3 and $4 its rate of starts, and those of its keys, begin anew, with $5 and $6 those of units.
with w as (
    update meanwhile.lanes set wake = now(), free = case when $4 then null else free end, paid = case when $6 then null else paid end where queue = $1
)
update meanwhile.queues set limits = $2, free = case when $3 then null else free end, paid = case when $5 then null else paid end where queue = $1
