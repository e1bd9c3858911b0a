select meanwhile.settle_strict($1, $2, $3, $4)
