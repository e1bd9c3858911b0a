-- The earliest minute of the rows that are older than $1, and the time $1 ago; no row if there are none.
select min(minute), now() - $1::interval from meanwhile.stats having min(minute) < now() - $1::interval
