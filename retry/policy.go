// Package retry describes retries: a [Policy] of attempts, exponential backoff and jitter for the option [meanwhile.Retry], and marks
// that a function puts on its errors for the code that calls it again: a retry, a stream's item, a job, an adaptive limit. A client of a server marks its errors
// without knowing who calls it, and imports nothing else.
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
// It imports the standard library only.
//
// [meanwhile.Retry]: https://pkg.go.dev/github.com/meanwhile-go/meanwhile#Retry
package retry

import "time"

// A Policy says when a failed function is called again. The zero value is a policy: up to three attempts with
// growing, random waits of about 100 and 200 ms between them.
type Policy struct {
	Attempts int           // at most, the first included; default 3
	Base     time.Duration // bound of the wait before the second attempt; default 100 ms
	Max      time.Duration // bound of each wait; default 30 s
	Factor   float64       // by which the bound grows with each attempt; default 2
	// Jitter is the share of each wait that is random: 1, the default, draws it between zero and the bound ("full
	// jitter"), a half between half the bound and the bound, and less than zero stands for no randomness.
	Jitter float64
	// MaxAfter is the bound of a wait that an error asks for ([After]); default Max. A server that asks for more is called
	// again after the bound.
	MaxAfter time.Duration
	// Timeout of each attempt; default none. The option Timeout bounds all attempts and waits together.
	Timeout time.Duration
	// If reports whether a failure is worth another attempt; default every failure that is not marked [Permanent].
	If func(error) bool
}
