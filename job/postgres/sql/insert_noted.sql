select null::uuid from meanwhile.insert_noted($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) i where i is null
