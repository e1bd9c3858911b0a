select null::uuid from meanwhile.insert_alike($1, $2, $3, $4, $5, $6) i where i is null
