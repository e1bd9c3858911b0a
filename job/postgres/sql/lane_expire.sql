-- Deletes the state of up to $3 lanes of the queue $1 that was kept until $2 or earlier.
delete from meanwhile.lanes where ctid = any (array(
    select l.ctid from meanwhile.lanes l where l.queue = $1 and l.idle <= $2 order by l.idle limit $3
))
