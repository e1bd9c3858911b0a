package job

import (
	"math/rand/v2"
	"time"
)

const (
	backoffBase = time.Second
	backoffMax  = 6 * time.Hour
)

// backoff draws the wait after a failed attempt: between half the bound and the bound.
func backoff(attempt int) time.Duration {
	bound := backoffBound(attempt)
	return bound/2 + jitter(bound/2)
}

// backoffBound returns the longest wait after a failed attempt. It doubles with each attempt, up to backoffMax.
func backoffBound(attempt int) time.Duration {
	if n := max(attempt, 1) - 1; n < 15 { // 2¹⁵ s > 6 h
		return min(backoffMax, backoffBase<<n)
	}
	return backoffMax
}

// jitter draws a duration of at most d.
func jitter(d time.Duration) time.Duration { return rand.N(d + 1) }

// storeBackoff is the wait after the nth failed call to the store in a row: from 50 ms to about 3 s.
func storeBackoff(n int) time.Duration {
	bound := 50 * time.Millisecond << min(n, 6)
	return bound/2 + jitter(bound/2)
}
