package job

import "math/rand/v2"

// A Session identifies one run of a worker at its store: a number that is kept with the jobs that it claims. One lease holds all of them. Claim
// starts the lease and Renew extends it; when it has run out, other workers may claim the jobs. Two workers never share a session, whatever their
// names; several servers that act for one program, see [Claimer], may. Zero means none.
type Session int64

// NewSession returns a random session, which differs from all others in 62 random bits.
func NewSession() Session { return Session(rand.Int64N(1<<62-1)) + 1 }
