package job

import "math/rand/v2"

// A Session is one life of a worker at its store: a number that the jobs which it claims carry. One lease holds all of them. Claim
// begins it and Renew prolongs it; when it has run out, the jobs may be claimed by others. Two workers never share a
// session, whatever their names; several servers that speak for one program, see [Claimer], may. Zero is none.
type Session int64

// NewSession draws a session, different from all others by 62 random bits.
func NewSession() Session { return Session(rand.Int64N(1<<62-1)) + 1 }
