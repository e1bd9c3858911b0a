-- Begins the claim $2 of the session $1 of the worker $3 with the lease $4, and reports whether it may take jobs.
select meanwhile.begin_claim($1, $2, 0, $3, $4)
