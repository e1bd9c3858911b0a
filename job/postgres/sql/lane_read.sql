select * from meanwhile.lanes_read($1, $2, $3, $4, $5)
