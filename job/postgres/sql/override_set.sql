-- Sets the limits of the key $2 of the queue $1 to $3. $4 is the change in the number of keys that have limits. With $5 its rate of starts starts
-- anew, with $6 its rate of units.
with w as (
    update meanwhile.lanes set free = case when $5 then null else free end, paid = case when $6 then null else paid end
    where queue = $1 and key = $2
), t as (
    insert into meanwhile.touched (queue, key) values ($1, $2)
), n as (
    update meanwhile.queues set overrides = overrides + $4 where queue = $1 and $4 <> 0
), gone as (
    delete from meanwhile.overrides where $3::text is null and queue = $1 and key = $2
)
insert into meanwhile.overrides (queue, key, limits) select $1, $2, $3::text where $3::text is not null
on conflict (queue, key) do update set limits = excluded.limits
