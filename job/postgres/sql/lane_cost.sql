select * from meanwhile.lanes_cost($1, $2, $3, $4, $5, $6)
