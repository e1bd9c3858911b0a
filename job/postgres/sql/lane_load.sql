select * from meanwhile.lanes_load($1, $2, $3, $4)
