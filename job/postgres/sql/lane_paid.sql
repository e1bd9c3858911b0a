-- What is kept of the rate of units of the lanes $2 of the queue $1.
select key, paid from meanwhile.lanes where queue = $1 and key = any ($2::text[]) and paid is not null
