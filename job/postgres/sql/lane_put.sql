select from meanwhile.lanes_put($1, $2, $3, $4, $5, $6, $7, $8, $9)
