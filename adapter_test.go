package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/retry"
)

var errTooMuch = errors.New("too much")

// A farSide describes a server under virtual time. It works on as many calls concurrently as the current phase allows;
// further calls queue in order, and those for which the queue has no space are refused after one round trip.
type farSide struct {
	phases  []int         // capacity in each phase
	length  time.Duration // of each phase
	service time.Duration // of a call, without its noise
	jitter  func(*rand.Rand) float64
	queue   int           // capacity of the queue; less than zero is unlimited
	refusal time.Duration // how long a refusal takes: a round trip
	tries   []int         // fixed limits to try besides the capacities
}

type server struct {
	farSide
	start   time.Time
	mu      sync.Mutex
	working int
	waiting []chan struct{}
	served  []int // calls answered in each phase after the settling time
	all     int
	refused int
	worst   int // the longest queue after the settling time
}

// settling is the time that a limit has to adapt after a change of the capacity.
const settling = 1500 * time.Millisecond

// jitter is up to a fifth more than 1.
func jitter(r *rand.Rand) float64 { return 1 + r.Float64()/5 }

// heavyTail is lognormal with a median of 1: one call in twelve takes more than twice as long.
func heavyTail(r *rand.Rand) float64 { return math.Exp(0.5 * r.NormFloat64()) }

func (s *server) phase() int {
	return min(int(time.Since(s.start)/s.length), len(s.phases)-1)
}

func (s *server) call(ctx context.Context, i int) error {
	s.mu.Lock()
	switch {
	case s.working < s.phases[s.phase()]:
		s.working++
		s.mu.Unlock()
	case s.queue >= 0 && len(s.waiting) >= s.queue:
		s.refused++
		s.mu.Unlock()
		if err := Sleep(ctx, s.refusal); err != nil {
			return err
		}
		return retry.Overloaded(errTooMuch)
	default:
		turn := make(chan struct{})
		s.waiting = append(s.waiting, turn)
		if s.settled() {
			s.worst = max(s.worst, len(s.waiting))
		}
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	noise := s.jitter(rand.New(rand.NewPCG(1, uint64(i))))
	err := Sleep(ctx, time.Duration(float64(s.service)*noise))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
	for len(s.waiting) > 0 && s.working < s.phases[s.phase()] {
		s.working++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
	if err == nil {
		s.all++
		if s.settled() {
			s.served[s.phase()]++
		}
	}
	return err
}

func (s *server) settled() bool { return time.Since(s.start)%s.length >= settling }

// goodput is the number of calls answered per second, overall and in each phase after the settling time.
type goodput struct {
	overall float64
	phases  []float64
	refused int
	worst   int
}

// load calls the server f, with the limit, until its phases are over.
func load(t *testing.T, f farSide, limit *Limiter) (g goodput) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{farSide: f, start: time.Now(), served: make([]int, len(f.phases))}
		total := s.length * time.Duration(len(s.phases))
		ctx, cancel := context.WithTimeout(t.Context(), total)
		defer cancel()
		results := Map(ctx, endless, func(ctx context.Context, i int) (struct{}, error) {
			return struct{}{}, s.call(ctx, i)
		}, limit, Unordered())
		for _, err := range results {
			if err != nil && !errors.Is(err, errTooMuch) && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		g.overall = float64(s.all) / total.Seconds()
		for _, n := range s.served {
			g.phases = append(g.phases, float64(n)/(s.length-settling).Seconds())
		}
		g.refused, g.worst = s.refused, s.worst
	})
	return g
}

// compare requires AdaptiveLimit(1, 200) to reach four fifths of the goodput of the best fixed limit in each phase after the
// settling time, and two thirds of it in the whole run, in which it learns all capacities. It finds the best fixed limit by
// trying.
func compare(t *testing.T, s farSide) {
	t.Helper()
	var bestOverall goodput
	overallLimit := 0
	best := make([]float64, len(s.phases))
	limits := make([]int, len(s.phases))
	tries := append(s.tries, s.phases...)
	slices.Sort(tries)
	for _, n := range slices.Compact(tries) {
		g := load(t, s, Limit(n))
		if g.overall > bestOverall.overall {
			bestOverall, overallLimit = g, n
		}
		for i, v := range g.phases {
			if v > best[i] {
				best[i], limits[i] = v, n
			}
		}
	}
	got := load(t, s, AdaptiveLimit(1, 200))
	var table strings.Builder
	row := func(phase string, limit int, want, got, share float64) {
		fmt.Fprintf(&table, "%-12s %10d %10.1f %10.1f %6.0f %%\n", phase, limit, want, got, 100*got/want)
		if got < share*want {
			t.Errorf("%s: the adaptive limit reached %.1f/s, the best fixed limit, %d, reached %.1f/s", phase, got, limit, want)
		}
	}
	fmt.Fprintf(&table, "%-12s %10s %10s %10s %8s\n", "capacity", "best limit", "goodput", "adaptive", "share")
	for i, c := range s.phases {
		row(fmt.Sprint(c), limits[i], best[i], got.phases[i], 0.8)
	}
	row("whole run", overallLimit, bestOverall.overall, got.overall, 0.66)
	t.Logf("refused %d, longest queue %d\n%s", got.refused, got.worst, table.String())
}

func TestAdaptiveLimitReachesTheBestFixedLimit(t *testing.T) {
	const ms = time.Millisecond
	changing, smaller := []int{40, 10, 80}, []int{20, 5, 40}
	for name, s := range map[string]farSide{
		"queue and refusals":    {phases: changing, length: 5 * time.Second, jitter: jitter, queue: 20, refusal: 20 * ms, tries: []int{15, 50, 100}},
		"queue alone":           {phases: smaller, length: 5 * time.Second, jitter: jitter, queue: -1},
		"refusals alone":        {phases: []int{20, 10}, length: 5 * time.Second, jitter: jitter, queue: 0, refusal: 5 * ms},
		"noise":                 {phases: smaller, length: 5 * time.Second, jitter: heavyTail, queue: 10, refusal: 20 * ms},
		"noise, queue alone":    {phases: smaller, length: 5 * time.Second, jitter: heavyTail, queue: -1},
		"noise, refusals alone": {phases: smaller, length: 5 * time.Second, jitter: heavyTail, queue: 0, refusal: 20 * ms},
		"an eighth and back":    {phases: []int{40, 5, 40}, length: 5 * time.Second, jitter: jitter, queue: 20, refusal: 20 * ms},
		"few":                   {phases: []int{3, 1, 5}, length: 30 * time.Second, jitter: heavyTail, queue: 2, refusal: 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "noise") || name == "queue and refusals" {
				testenv.LongTest(t)
			}
			t.Parallel()
			s.service = 50 * ms
			compare(t, s)
		})
	}
}

// A light load does not fill the limit, which then has no reason to grow.
func TestAdaptiveLimitDoesNotGrowWithoutNeed(t *testing.T) {
	for name, noise := range map[string]func(*rand.Rand) float64{"steady": jitter, "noise": heavyTail} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit, highest, calls := AdaptiveLimit(1, 200), 0, 0
				random := rand.New(rand.NewPCG(1, 2))
				spaced := func(yield func(float64, error) bool) {
					for range 3000 {
						time.Sleep(10 * time.Millisecond)
						if !yield(noise(random), nil) {
							return
						}
					}
				}
				err := Run(t.Context(), func(ctx context.Context) error {
					started := time.Now()
					for _, err := range Map(ctx, spaced, func(ctx context.Context, noise float64) (struct{}, error) {
						return struct{}{}, Sleep(ctx, time.Duration(noise*float64(50*time.Millisecond)))
					}, limit, Unordered()) {
						calls++
						highest = max(highest, limit.Current())
						if err != nil {
							return err
						}
					}
					if got := time.Since(started); got > 33*time.Second {
						t.Errorf("30 s of input took %v: the limit held it up", got)
					}
					return nil
				})
				if err != nil || calls != 3000 {
					t.Fatalf("%d calls, error %v", calls, err)
				}
				if highest > 30 {
					t.Errorf("the limit grew to %d although about 5 ran concurrently", highest)
				}
			})
		})
	}
}

// A server that becomes slow for good has no queue: the time without a queue is measured again.
func TestAdaptiveLimitMeasuresTheTimeWithoutAQueueAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 32)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second)
		defer cancel()
		low := 32
		for range Map(ctx, endless, func(ctx context.Context, _ int) (struct{}, error) {
			if time.Since(start) < 5*time.Second {
				return struct{}{}, Sleep(ctx, 50*time.Millisecond)
			}
			return struct{}{}, Sleep(ctx, 200*time.Millisecond)
		}, limit, Unordered()) {
			if time.Since(start) > 5*time.Second {
				low = min(low, limit.Current())
			}
		}
		if low > 8 {
			t.Errorf("the limit only fell to %d; this test needs it to be misled", low)
		}
		if got := limit.Current(); got < 16 {
			t.Errorf("the limit is %d after 75 s at the new speed, want the upper bound, 32, or half of it during a measurement", got)
		}
	})
}

func TestAdaptiveLimitDoublesUntilItMeetsAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(3, 50)
		if got := limit.Current(); got != 3 {
			t.Errorf("it starts with %d, want the lower bound, 3", got)
		}
		var seen []int
		for range Map(t.Context(), upTo(300), func(ctx context.Context, _ int) (struct{}, error) {
			return struct{}{}, Sleep(ctx, time.Second)
		}, limit) {
			seen = append(seen, limit.Current())
		}
		if got, want := slices.Compact(seen), []int{3, 6, 12, 24, 48, 50}; !slices.Equal(got, want) {
			t.Errorf("the limit was %v, want %v", got, want)
		}
	})
}

func TestAdaptiveLimitStaysWithinItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(4, 9)
		for i := range 200 {
			overloaded := i/50%2 == 1
			for range Map(t.Context(), upTo(10), func(ctx context.Context, _ int) (struct{}, error) {
				if overloaded {
					return struct{}{}, retry.Overloaded(errTooMuch)
				}
				return struct{}{}, Sleep(ctx, time.Second)
			}, limit) {
				if got := limit.Current(); got < 4 || got > 9 {
					t.Fatalf("the limit is %d", got)
				}
			}
			switch got := limit.Current(); {
			case i == 49 && got < 8, i == 149 && got < 8:
				t.Errorf("the limit is %d after 50 rounds of success", got)
			case i == 99 && got != 4:
				t.Errorf("the limit is %d after 50 rounds of overload", got)
			}
		}
	})
}

// Failures that are not marked as an overload do not change the limit.
func TestAdaptiveLimitIgnoresOtherFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		limit.Set(20)
		for range Map(t.Context(), upTo(1000), func(ctx context.Context, _ int) (struct{}, error) {
			_ = Sleep(ctx, time.Second)
			return struct{}{}, errTooMuch
		}, limit) {
		}
		if got := limit.Current(); got != 20 {
			t.Errorf("the limit moved from 20 to %d", got)
		}
	})
}

// Refusals of items that started before the limit was lowered do not lower it below half.
func TestAdaptiveLimitIsHalvedAtMostByAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		limit.Set(40)
		for i, err := range Map(t.Context(), upTo(40), func(ctx context.Context, i int) (int, error) {
			_ = Sleep(ctx, 10*time.Second+time.Duration(i)*time.Millisecond)
			return i, retry.Overloaded(errTooMuch)
		}, limit) {
			if !errors.Is(err, errTooMuch) {
				t.Fatal(i, err)
			}
		}
		if got := limit.Current(); got != 20 {
			t.Errorf("the limit is %d, want half of 40", got)
		}
	})
}

// Each refusal lowers the limit by one: what remains is what the server accepted.
func TestAdaptiveLimitBecomesWhatTheServerAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		limit.Set(40)
		for range Map(t.Context(), upTo(40), func(ctx context.Context, i int) (int, error) {
			_ = Sleep(ctx, time.Second)
			if i >= 33 {
				return i, retry.Overloaded(errTooMuch)
			}
			return i, Sleep(ctx, time.Minute)
		}, limit) {
		}
		if got := limit.Current(); got != 33 {
			t.Errorf("the limit is %d after 7 of 40 were refused, want 33", got)
		}
	})
}

// An overload that comes while the limit is halved for a measurement postpones the measurement, and does not halve the limit
// again. The limit may be lowered for another reason at the same time, but not in most runs.
func TestAdaptiveLimitMeetsOverloadWhileItMeasures(t *testing.T) {
	const runs = 5
	good := 0
	for range runs {
		half, low := overloadWhileMeasuring(t)
		if half > 0 && 4*low >= 3*half {
			good++
		} else {
			t.Logf("refused when the limit was halved to %d, it fell to %d", half, low)
		}
	}
	if good <= runs/2 {
		t.Errorf("in %d of %d runs the limit was not halved again, want most", good, runs)
	}
}

// overloadWhileMeasuring refuses one item when the limit has been halved, to half, and returns the lowest limit soon
// afterwards.
func overloadWhileMeasuring(t *testing.T) (half, low int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		places := NewSemaphore(20)
		var before, halved atomic.Int64 // the limit that the previous item saw, and what it was halved to
		calls, after, high := 0, 0, 0
		low = 100
		for _, err := range Map(t.Context(), upTo(6000), func(ctx context.Context, i int) (struct{}, error) {
			now := int64(limit.Current())
			if last := before.Swap(now); i > 400 && 10*now <= 6*last && halved.CompareAndSwap(0, now) {
				return struct{}{}, retry.Overloaded(errTooMuch)
			}
			if err := places.Acquire(ctx, 1); err != nil {
				return struct{}{}, err
			}
			defer places.Release(1)
			return struct{}{}, Sleep(ctx, 50*time.Millisecond)
		}, limit, Unordered()) {
			if err != nil && !errors.Is(err, errTooMuch) {
				t.Fatal(err)
			}
			if halved.Load() > 0 && after < 60 {
				after++
				low = min(low, limit.Current())
			}
			if calls++; calls > 3000 {
				high = max(high, limit.Current())
			}
		}
		if half = int(halved.Load()); high < 20 {
			t.Errorf("afterwards the limit only rose to %d", high)
		}
	})
	return half, low
}

// endless yields 0, 1, 2 and so on.
func endless(yield func(int, error) bool) {
	for i := 0; yield(i, nil); i++ {
	}
}

// upTo yields 0 to n-1.
func upTo(n int) Stream[int] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// A rare refusal, as from one of many machines, lowers the limit by one and does not keep it from growing.
func TestAdaptiveLimitBearsRareRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items, capacity = 5000, 200
		random := rand.New(rand.NewPCG(1, 2))
		waits, refused := make([]time.Duration, items), make([]bool, items)
		for i := range items {
			waits[i] = 80*time.Millisecond + time.Duration(random.ExpFloat64()*60*float64(time.Millisecond))
			refused[i] = random.Float64() < 0.001
		}
		places := NewSemaphore(capacity)
		limit := AdaptiveLimit(4, 512)
		start := time.Now()
		for range Map(t.Context(), upTo(items), func(ctx context.Context, i int) (int, error) {
			if refused[i] {
				return 0, retry.Overloaded(errTooMuch)
			}
			if err := places.Acquire(ctx, 1); err != nil {
				return 0, err
			}
			defer places.Release(1)
			return i, Sleep(ctx, waits[i])
		}, limit, Unordered()) {
		}
		// With the best fixed limit this takes 3.7 s, with a limit of 64 it takes 11 s.
		if took := time.Since(start); took > 10*time.Second || limit.Current() < capacity/2 {
			t.Errorf("took %v, the limit ended at %d", took, limit.Current())
		}
	})
}
