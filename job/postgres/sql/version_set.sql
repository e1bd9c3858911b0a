update meanwhile.version set version = $1
