select * from meanwhile.lanes_keys($1, $2, $3)
