select * from meanwhile.lanes_take($1, $2, $3, $4, $5, $6, $7, $8, $9)
