select * from meanwhile.lanes_hold($1, $2, $3, $4::text[]::tid[], $5, $6, $7, $8)
