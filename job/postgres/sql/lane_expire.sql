-- Deletes what is kept of up to $3 lanes of the queue $1 whose time $2 is over.
delete from meanwhile.lanes where ctid = any (array(
    select l.ctid from meanwhile.lanes l where l.queue = $1 and l.idle <= $2 order by l.idle limit $3
))
