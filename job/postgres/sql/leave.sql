delete from meanwhile.workers where worker = $1
