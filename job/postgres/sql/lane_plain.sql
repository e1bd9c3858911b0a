select * from meanwhile.lane_plain($1, $2)
