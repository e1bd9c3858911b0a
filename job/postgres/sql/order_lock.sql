select worker from meanwhile.workers where worker = $1 for update
