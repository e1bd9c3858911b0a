select meanwhile.settle_alike($1, $2, $3, $4)
