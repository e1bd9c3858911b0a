-- Sets the limits of the queue $1 to $2. With $3 and $4 a rate of its own, and those of its keys, begin anew.
with w as (
    update meanwhile.lanes set wake = now(), free = case when $4 then null else free end where queue = $1
)
update meanwhile.queues set limits = $2, free = case when $3 then null else free end where queue = $1
