select * from meanwhile.lanes_first($1, $2, $3)
