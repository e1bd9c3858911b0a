package job

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Rate is a rate limit: it bounds how fast jobs start, or use units, to N in each Per, evenly spaced. After a pause, up to Burst may start at
// once; zero means one. A late start is made up for: the next may come earlier, by up to 50 ms or half of Per/N. The zero value bounds nothing.
type Rate struct {
	N     int           `json:"n,omitempty"`
	Per   time.Duration `json:"per,omitempty"` // in JSON in ns
	Burst int           `json:"burst,omitempty"`
}

const (
	shortestSpan = 100 * time.Microsecond // from one start to the next
	tenYears     = 10 * 365 * 24 * time.Hour
)

func (r Rate) checkStarts() error {
	err := r.check(MaxLimit)
	if err == nil && r.N > 0 && time.Duration(r.N) > r.Per/shortestSpan {
		err = fmt.Errorf("a rate of %d per %v: give at most 10000 per second, or no rate for no bound", r.N, r.Per)
	}
	return err
}

func (r Rate) checkUnits() error { return r.check(MaxCost) }

func (r Rate) check(most int) error {
	switch {
	case r == Rate{}:
		return nil
	case r.N < 1 || r.N > most:
		return fmt.Errorf("a rate of %d: give from 1 to %d, or no rate for no bound", r.N, most)
	case r.Per < time.Microsecond || r.Per > 366*24*time.Hour:
		return fmt.Errorf("a rate of %d per %v: give a time up to a year", r.N, r.Per)
	case r.Burst < 0 || r.Burst > most:
		return fmt.Errorf("a burst of %d: give from 1 to %d, or 0 for 1", r.Burst, most)
	case float64(max(r.Burst, 1))*float64(r.Per)/float64(r.N) > float64(tenYears):
		return fmt.Errorf("a burst of %d at %d per %v, which takes more than ten years to come back: give a smaller one", r.Burst, r.N, r.Per)
	}
	return nil
}

// String describes the rate, such as "500 per minute, 50 at once".
func (r Rate) String() string { return r.text("") }

// text is String with what the rate counts.
func (r Rate) text(unit string) string {
	if r.N == 0 {
		return "no bound"
	}
	per, named := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day"}[r.Per]
	if !named {
		per = r.Per.String()
	}
	text := fmt.Sprintf("%d %sper %s", r.N, unit, per)
	if r.Burst > 1 {
		text += fmt.Sprintf(", %d at once", r.Burst)
	}
	return text
}

// For a rate, a store keeps one time: when as many as Burst may start at once again. Each start moves it by Per/N. Times are those of the store. A part
// of a microsecond that is left counts as a whole one.

// lateStart bounds how much earlier the next start may come after a late one. Without it, the time that workers need to wake up and claim would be
// lost from each interval.
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
	ticks := (busy + time.Microsecond - 1) / time.Microsecond
	high, low := bits.Mul64(uint64(ticks-1), uint64(r.N))
	used, _ := bits.Div64(high, low, uint64(r.Per/time.Microsecond)) // the most whose span is less than busy
	return burst - int(used) - 1
}

// Take returns the time to keep when n have started at now; n must not be more than Left.
func (r Rate) Take(full, now time.Time, n int) time.Time {
	if r.N == 0 || n == 0 {
		return full
	}
	if earliest := now.Add(-min(r.span(1)/2, lateStart).Truncate(time.Microsecond)); full.Before(earliest) {
		full = earliest
	}
	return full.Add(r.span(n))
}

// Charge returns the time to keep when n units are used at now. They may be more than Left: what is missing is a debt, of ten years at most. A
// negative n returns units.
func (r Rate) Charge(full, now time.Time, n int) time.Time {
	switch {
	case r.N == 0 || n == 0 || n < 0 && !full.After(now):
		return full
	case n < 0:
		return full.Add(-r.span(-n))
	}
	span := r.span(n)
	if earliest := now.Add(-min(span/2, lateStart).Truncate(time.Microsecond)); full.Before(earliest) {
		full = earliest
	}
	if full = full.Add(span); full.Sub(now) > tenYears {
		full = now.Add(tenYears)
	}
	return full
}

// Next returns when the next may start: now, or later.
func (r Rate) Next(full, now time.Time) time.Time {
	if r.Left(full, now) > 0 {
		return now
	}
	return full.Add(-r.span(max(r.Burst, 1) - 1))
}

// span returns the time that n take, rounded up, so that no more start than the rate allows; ten years at most.
func (r Rate) span(n int) time.Duration {
	high, low := bits.Mul64(uint64(n), uint64(r.Per/time.Microsecond))
	low, carry := bits.Add64(low, uint64(r.N-1), 0)
	if high += carry; high >= uint64(r.N) {
		return tenYears
	}
	span, _ := bits.Div64(high, low, uint64(r.N))
	return time.Duration(min(span, uint64(tenYears/time.Microsecond))) * time.Microsecond
}
