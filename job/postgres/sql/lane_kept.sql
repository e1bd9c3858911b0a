select * from meanwhile.lanes_kept($1, $2, $3, $4, $5)
