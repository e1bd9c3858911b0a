select * from meanwhile.claim_expired($1, $2, $3, $4, $5, $6, $7, $8)
