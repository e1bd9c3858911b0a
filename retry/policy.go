// Package retry describes retries: a [Policy] of attempts, exponential backoff and jitter for the option [meanwhile.Retry],
// and marks that a function adds to its errors for the code that calls it again: a retry, a stream's item, a job, an
// adaptive limit. A client of a server marks its errors without knowing its caller, and imports nothing else.
//
//	meanwhile.Run(ctx, fetch, meanwhile.Retry(retry.Policy{Attempts: 5}))
//
//	switch response.StatusCode {
//	case 404:
//		return retry.Permanent(err)
//	case 429:
//		return retry.After(err, delay)
//	}
//
// It imports only the standard library.
//
// [meanwhile.Retry]: https://pkg.go.dev/github.com/meanwhile-go/meanwhile#Retry
package retry

import "time"

// A Policy defines when a failed function is called again. The zero value is a policy: up to three attempts with growing,
// random waits of at most 100 and 200 ms between them.
type Policy struct {
	Attempts int           // maximum number, including the first; default 3
	Base     time.Duration // upper limit of the wait before the second attempt; default 100 ms
	Max      time.Duration // upper limit of each wait; default 30 s
	Factor   float64       // by which the upper limit grows with each attempt; default 2
	// Jitter is the share of each wait that is random: 1, the default, draws the wait between zero and the upper limit
	// ("full jitter"), 0.5 between half of the upper limit and the upper limit, and a negative number means no randomness.
	Jitter float64
	// MaxAfter is the upper limit of a wait that an error requests ([After]); default Max. A server that requests more is
	// called again after MaxAfter.
	MaxAfter time.Duration
	// Timeout of each attempt; default none. The option Timeout limits all attempts and waits together.
	Timeout time.Duration
	// If reports whether a failure justifies another attempt; default every failure that is not marked [Permanent].
	If func(error) bool
}
