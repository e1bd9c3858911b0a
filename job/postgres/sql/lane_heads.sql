select * from meanwhile.lanes_heads($1, $2, $3, $4)
