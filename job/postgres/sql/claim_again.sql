select * from meanwhile.claim_again($1, $2, $3, $4, $5)
