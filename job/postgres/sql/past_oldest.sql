-- When the rows of minutes that are older than $1 begin, and up to when they are; no row where there are none.
select min(minute), now() - $1::interval from meanwhile.stats having min(minute) < now() - $1::interval
