select * from meanwhile.lanes_changed($1, $2, $3, $4)
