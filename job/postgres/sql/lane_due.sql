select * from meanwhile.lanes_due($1, $2, $3, $4)
