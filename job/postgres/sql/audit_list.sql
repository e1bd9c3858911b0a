select n, at, entry from meanwhile.audit where n < $1 order by n desc limit $2
