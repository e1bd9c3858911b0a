select count(*) from meanwhile.running where queue = $1
