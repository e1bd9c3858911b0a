package meanwhile_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A simulated describes a server under virtual time that works on up to knee calls concurrently.
type simulated struct {
	knee    int
	service time.Duration
	queue   int           // calls that may wait; less than zero is unlimited
	refusal time.Duration // how long a refusal takes
	jitter  func(*rand.Rand) float64
	slow    float64 // share of the calls that take twenty times as long
	later   int     // the knee after half of the calls; 0 is no change
	calls   int
	seed    uint64
}

// An outcome is what a limit did in the second half of the calls, or in the last quarter if the knee changes.
type outcome struct {
	limit    float64 // its mean
	low, top int
	refused  float64 // share of the calls
	goodput  float64 // calls answered, as a share of what the knee allows
}

func noJitter(*rand.Rand) float64 { return 1 }

func simulate(t *testing.T, s simulated, limit *Limiter) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(s.seed, 7))
		times := make([]time.Duration, s.calls)
		mean := 0.0
		for i := range times {
			f := s.jitter(random)
			if random.Float64() < s.slow {
				f *= 20
			}
			times[i] = time.Duration(float64(s.service) * f)
			mean += float64(times[i]) / float64(s.calls)
		}
		knee := s.knee
		var mu sync.Mutex
		working := 0
		var waiting []chan struct{}
		admit := func() {
			for len(waiting) > 0 && working < knee {
				working++
				close(waiting[0])
				waiting = waiting[1:]
			}
		}
		call := func(ctx context.Context, i int) (bool, error) {
			mu.Lock()
			switch {
			case working < knee:
				working++
				mu.Unlock()
			case s.queue >= 0 && len(waiting) >= s.queue:
				mu.Unlock()
				if err := Sleep(ctx, s.refusal); err != nil {
					return false, err
				}
				return false, retry.Overloaded(errTooMuch)
			default:
				turn := make(chan struct{})
				waiting = append(waiting, turn)
				mu.Unlock()
				<-turn
			}
			err := Sleep(ctx, times[i])
			mu.Lock()
			defer mu.Unlock()
			working--
			admit()
			return true, err
		}
		n, counted, refused := 0, 0, 0
		var since time.Time
		weight, last := 0.0, time.Now()
		o.low = math.MaxInt
		served := 0
		for ok := range Map(t.Context(), upTo(s.calls), call, limit, Unordered()) {
			n++
			if n == s.calls/2 && s.later > 0 {
				mu.Lock()
				knee = s.later
				admit()
				mu.Unlock()
			}
			from := s.calls / 2
			if s.later > 0 {
				from = s.calls * 3 / 4
			}
			if n == from {
				since, last = time.Now(), time.Now()
			}
			if n >= from && n < s.calls-2*limit.Current() {
				counted++
				if !ok {
					refused++
				} else {
					served++
				}
				now := time.Now()
				d := now.Sub(last).Seconds()
				o.limit += d * float64(limit.Current())
				weight += d
				last = now
				o.low, o.top = min(o.low, limit.Current()), max(o.top, limit.Current())
			}
		}
		o.limit /= weight
		o.refused = float64(refused) / float64(counted)
		o.goodput = float64(served) / (last.Sub(since).Seconds() * float64(knee) / (mean / float64(time.Second)))
	})
	return o
}

// What an adaptive limit does once it has learned: at most one call in fifty is refused, the limit is between 0.8 and 1.25
// times the number of calls that the server works on concurrently, and the goodput is at least 85 % of what that number
// allows.
func TestAdaptiveLimitInTheSteadyState(t *testing.T) {
	mild := func(r *rand.Rand) float64 { return math.Exp(0.2 * r.NormFloat64()) }
	servers := map[string]func(s *simulated){
		"refuses":                    func(s *simulated) { s.queue = 0 },
		"refuses, noise":             func(s *simulated) { s.queue, s.jitter = 0, heavyTail },
		"refuses, some slow":         func(s *simulated) { s.queue, s.jitter, s.slow = 0, jitter, 0.01 },
		"refuses slowly":             func(s *simulated) { s.queue, s.jitter, s.refusal = 0, jitter, s.service },
		"refuses, then takes twice":  func(s *simulated) { s.queue, s.jitter, s.later = 0, jitter, 2*s.knee },
		"refuses, then takes half":   func(s *simulated) { s.queue, s.jitter, s.later = 0, jitter, (s.knee+1)/2 },
		"queues":                     func(s *simulated) { s.jitter = jitter },
		"queues, noise":              func(s *simulated) { s.jitter = mild },
		"queues, much noise":         func(s *simulated) { s.jitter = heavyTail },
		"queues, some slow":          func(s *simulated) { s.jitter, s.slow = jitter, 0.01 },
		"queues, then takes twice":   func(s *simulated) { s.jitter, s.later = jitter, 2*s.knee },
		"queues, then takes half":    func(s *simulated) { s.jitter, s.later = jitter, (s.knee+1)/2 },
		"queues a few, then refuses": func(s *simulated) { s.jitter, s.queue = jitter, max(1, s.knee/5) },
		"queues many, then refuses":  func(s *simulated) { s.jitter, s.queue = jitter, 2*s.knee },
	}
	for name, change := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, knee := range []int{5, 50, 500} {
				services := []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second}
				seeds := uint64(2)
				if knee != 50 && !testenv.Long() {
					continue
				}
				if knee == 500 || !testenv.Long() {
					services, seeds = services[1:2], 1
				}
				for _, service := range services {
					for seed := range seeds {
						s := simulated{
							knee: knee, service: service, queue: -1, refusal: service / 50, jitter: noJitter,
							calls: max(6000, 60*knee), seed: seed,
						}
						change(&s)
						if s.later > 0 {
							s.calls *= 2
						}
						o := simulate(t, s, AdaptiveLimit(1, 2000))
						at := float64(cmp.Or(s.later, s.knee))
						text := fmt.Sprintf("knee %v, %v, seed %d: mean limit %.1f (%d to %d), refused %.2f %%, goodput %.2f",
							at, service, seed, o.limit, o.low, o.top, 100*o.refused, o.goodput)
						t.Log(text)
						// The limit is a whole number: one more than a knee of 3 is already more than 1.25 times as much.
						if o.refused > 0.02 || o.limit < 0.8*at || o.limit > max(1.25*at, at+1) || o.goodput < 0.85 {
							t.Error(text)
						}
					}
				}
			}
		})
	}
}
