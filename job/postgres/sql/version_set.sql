update meanwhile.version set version = $1, readable_from = $2
