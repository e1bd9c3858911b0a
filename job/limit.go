package job

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits bound how many jobs of a queue run at once and how fast they start, over all workers. They are kept in the store, see
// Store.SetLimits, and every claim keeps them. The zero value bounds nothing.
type Limits struct {
	Running int       `json:"running,omitempty"` // jobs of the queue that run at once; zero is no bound
	Starts  Rate      `json:"starts,omitzero"`   // how fast jobs of the queue start
	EachKey KeyLimits `json:"each_key,omitzero"` // for each limit key of its own, see [LimitKey]
}

// String returns the limits as they are said, such as "200 run at once, 500 per minute start".
func (l Limits) String() string {
	var parts []string
	add := func(of string, running int, starts Rate, inOrder bool) {
		if running > 0 {
			parts = append(parts, fmt.Sprintf("%d%s run at once", running, of))
		}
		if starts.N > 0 {
			parts = append(parts, starts.String()+of+" start")
		}
		if inOrder {
			parts = append(parts, "those of each key run in order")
		}
	}
	add("", l.Running, l.Starts, false)
	add(" of each key", l.EachKey.Running, l.EachKey.Starts, l.EachKey.InOrder)
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}

// KeyLimits bound the jobs of a queue that have one limit key.
type KeyLimits struct {
	Running int  `json:"running,omitempty"`
	Starts  Rate `json:"starts,omitzero"`
	// InOrder runs the jobs of a key one at a time in the order in which they were enqueued: by Created, then by ID, whatever their
	// priorities. One that is not due yet, since it waits for its next attempt or was enqueued for later, holds back those behind it,
	// and no other key. When it has finished, in whatever state, or was deleted, the next goes on.
	InOrder bool `json:"in_order,omitempty"`
}

// AtOnce returns how many jobs of a key may run at once; zero is no bound.
func (k *KeyLimits) AtOnce() int {
	if k.InOrder {
		return 1
	}
	return k.Running
}

// The bounds of limits.
const (
	MaxLimit    = 1_000_000 // jobs that run at once, and N and Burst of a rate
	MaxLimitKey = 255       // bytes of a limit key

	shortestSpan = 100 * time.Microsecond // from one start to the next, of a rate
)

// CheckLimits returns what is wrong with limits that are to be set for a queue. Stores call it.
func CheckLimits(queue string, l Limits) error {
	if err := checkName("queue", queue); err != nil {
		return err
	}
	for _, bound := range []struct {
		what string
		n    int
	}{{"running", l.Running}, {"running of each key", l.EachKey.Running}} {
		if bound.n < 0 || bound.n > MaxLimit {
			return fmt.Errorf("%s: %d jobs at once: give from 1 to %d, or 0 for no bound", bound.what, bound.n, MaxLimit)
		}
	}
	if l.EachKey.InOrder && l.EachKey.Running > 1 {
		return fmt.Errorf("running of each key: %d jobs at once, and they are to run in order, which is one at a time: leave one of the two out", l.EachKey.Running)
	}
	if err := l.Starts.check(); err != nil {
		return fmt.Errorf("starts: %w", err)
	}
	if err := l.EachKey.Starts.check(); err != nil {
		return fmt.Errorf("starts of each key: %w", err)
	}
	return nil
}

// A LimitUse is how far the limits of a queue, and those of one of its keys, are used. Of the key "", which is none, nothing is said.
type LimitUse struct {
	Limits
	QueueRunning int           `json:"queue_running"`
	KeyRunning   int           `json:"key_running"`
	QueueNext    time.Duration `json:"queue_next"`         // until the rate of the queue lets the next job start
	KeyNext      time.Duration `json:"key_next"`           // and that of the key
	QueueHeld    time.Duration `json:"queue_held"`         // until jobs of the queue start again, see [Throttled]
	KeyHeld      time.Duration `json:"key_held"`           // and those of the key
	KeyFirst     ID            `json:"key_first,omitzero"` // of its queued jobs, where they run in order, that which is next
	Now          time.Time     `json:"now"`                // by the store's clock
}

// LimitKey names what a job counts for where its queue has limits for each key: a customer, a host, an account of an API. Jobs of a queue that have keys
// are claimed in turns: of one priority, each key that waits starts one job, then the next key does, so that a key with a million
// jobs does not hold up the others.
func LimitKey(key string) Option {
	return both(func(in *insertion) { in.Job.LimitKey = key })
}

func checkLimitKey(key string) error {
	if len(key) > MaxLimitKey {
		return fmt.Errorf("the limit key has %d bytes, at most %d are allowed: %.60q…", len(key), MaxLimitKey, key)
	}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
		return fmt.Errorf("the limit key is not UTF-8 or has a control character in it: %q", key)
	}
	return nil
}

// A Rate bounds how fast jobs start: N in each Per, evenly spaced. After a pause, up to Burst may start at once; zero is one. A start that
// comes late is made up for: the next may come earlier, by up to 50 ms or half of Per/N. The zero value bounds nothing.
type Rate struct {
	N     int           `json:"n,omitempty"`
	Per   time.Duration `json:"per,omitempty"` // in JSON in ns
	Burst int           `json:"burst,omitempty"`
}

func (r Rate) check() error {
	switch {
	case r == Rate{}:
		return nil
	case r.N < 1 || r.N > MaxLimit:
		return fmt.Errorf("a rate of %d: give from 1 to %d, or no rate for no bound", r.N, MaxLimit)
	case r.Per < time.Microsecond || r.Per > 366*24*time.Hour:
		return fmt.Errorf("a rate of %d per %v: give a time up to a year", r.N, r.Per)
	case r.Burst < 0 || r.Burst > MaxLimit:
		return fmt.Errorf("a burst of %d: give from 1 to %d, or 0 for 1", r.Burst, MaxLimit)
	case float64(max(r.Burst, 1))*float64(r.Per)/float64(r.N) > float64(10*365*24*time.Hour):
		return fmt.Errorf("a burst of %d at %d per %v, which takes more than ten years to come back: give a smaller one", r.Burst, r.N, r.Per)
	case time.Duration(r.N) > r.Per/shortestSpan:
		return fmt.Errorf("a rate of %d per %v: give at most 10000 per second, or no rate for no bound", r.N, r.Per)
	}
	return nil
}

// String returns the rate as it is said, such as "500 per minute, 50 at once".
func (r Rate) String() string {
	if r.N == 0 {
		return "no bound"
	}
	per, named := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day"}[r.Per]
	if !named {
		per = r.Per.String()
	}
	text := fmt.Sprintf("%d per %s", r.N, per)
	if r.Burst > 1 {
		text += fmt.Sprintf(", %d at once", r.Burst)
	}
	return text
}

// What a store keeps of a rate is one time: when as many as Burst may start at once again. It moves by Per/N for each that starts.
// Times are those of the store, in whole microseconds.

// lateStart bounds by how much a start that comes late lets the next come early. Without it, what workers need to wake up and claim
// would be lost of each interval.
const lateStart = 50 * time.Millisecond

// Left returns how many may start at now.
func (r Rate) Left(full, now time.Time) int {
	if r.N == 0 {
		return math.MaxInt
	}
	burst := max(r.Burst, 1)
	busy := full.Sub(now)
	switch {
	case busy <= 0:
		return burst
	case busy > r.span(burst):
		return 0
	}
	high, low := bits.Mul64(uint64(busy/time.Microsecond-1), uint64(r.N))
	used, _ := bits.Div64(high, low, uint64(r.Per/time.Microsecond)) // the most whose span is less than busy
	return burst - int(used) - 1
}

// Take returns the time to keep when n have started at now, which are no more than Left.
func (r Rate) Take(full, now time.Time, n int) time.Time {
	if r.N == 0 || n == 0 {
		return full
	}
	if earliest := now.Add(-min(r.span(1)/2, lateStart).Truncate(time.Microsecond)); full.Before(earliest) {
		full = earliest
	}
	return full.Add(r.span(n))
}

// Next returns when the next may start: now, or later.
func (r Rate) Next(full, now time.Time) time.Time {
	if r.Left(full, now) > 0 {
		return now
	}
	return full.Add(-r.span(max(r.Burst, 1) - 1))
}

// span is the time that n take, rounded up, so that no more start than the rate says.
func (r Rate) span(n int) time.Duration {
	high, low := bits.Mul64(uint64(n), uint64(r.Per/time.Microsecond))
	low, carry := bits.Add64(low, uint64(r.N-1), 0)
	span, _ := bits.Div64(high+carry, low, uint64(r.N))
	return time.Duration(span) * time.Microsecond
}
