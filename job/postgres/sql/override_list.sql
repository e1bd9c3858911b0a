-- The limits of up to $3 keys of the queue $1 that come after $2.
select key, limits from meanwhile.overrides where queue = $1 and key > $2 order by key limit $3
