select * from meanwhile.lanes_more($1, $2, $3, $4, $5, $6, $7)
