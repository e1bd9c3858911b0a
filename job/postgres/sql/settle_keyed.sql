select meanwhile.settle_keyed($1, $2, $3, $4)
