select * from meanwhile.lanes_hold($1, $2, $3, $4, $5, $6, $7, $8)
