package measure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	defaultTime = 5 * time.Second
	// wantRounds is the number of rounds that fit into Config.Time, if calls are short enough. Short slots are often not interrupted at all
	// when other programs use the processors, and the median is then that of undisturbed slots.
	wantRounds = 2000
	timedAlone = 20 * time.Microsecond // calls that take at least this long are timed one by one
	leastSlot  = time.Millisecond      // of one function in one round
	mostCalls  = 1 << 24               // of one function in one round
	warmUps    = 5                     // attempts for each number of calls in the warm-up
)

// A Config configures for how long to measure.
type Config struct {
	// Time is how long each function runs in all rounds together, without the warm-up; default 5 s. A function is called
	// at least once in each round, and there is at least one round.
	Time time.Duration
}

// A Function is a function to compare; [Func] returns one.
type Function struct {
	name string
	call func(ctx context.Context) error
}

// Func gives a function a name for [Compare]. The function is called by one goroutine at a time, with the ctx of a scope in which it can
// start tasks, see [meanwhile.Run]. The time of a call includes that of its tasks: the next call begins when they have ended, except that
// calls which are timed together have one scope.
func Func(name string, call func(ctx context.Context) error) Function {
	return Function{name, call}
}

// Compare runs the functions in turn, in random order, round after round, and returns what it measured. Calls of less than 20 µs are timed
// together, as many as fill their part of a round. Before the first round each function is called for some milliseconds, at least once, to
// warm up.
//
// A function that fails or panics, or takes no time by the clock, ends the comparison: the error contains its name. When ctx is canceled,
// Compare returns ctx's error with a report of the complete rounds. In both cases it waits until the running function has returned.
//
// Names must not be empty or repeated; otherwise the error says which one is.
func Compare(ctx context.Context, config Config, functions ...Function) (Report, error) {
	if err := check(config, functions); err != nil {
		return Report{}, err
	}
	total := cmp.Or(config.Time, defaultTime)
	c := comparison{slot: max(total/wantRounds, leastSlot)}
	for _, f := range functions {
		c.series = append(c.series, &series{Function: f})
	}
	err := c.run(ctx, total)
	return c.report(err == nil), err
}

func check(config Config, functions []Function) error {
	if config.Time < 0 {
		return fmt.Errorf("measure: Config.Time is %v: give a positive duration, or none for %v", config.Time, defaultTime)
	}
	if len(functions) == 0 {
		return fmt.Errorf("measure: there is no function to measure: give Compare one or more of Func")
	}
	names := map[string]bool{}
	for i, f := range functions {
		switch {
		case f.call == nil:
			return fmt.Errorf("measure: function %d (%q) is nil: make it with Func", i+1, f.name)
		case f.name == "":
			return fmt.Errorf("measure: function %d has no name: a report could not tell it from others", i+1)
		case names[f.name]:
			return fmt.Errorf("measure: two functions are called %q: a report could not tell them apart", f.name)
		}
		names[f.name] = true
	}
	return nil
}

// A comparison is one call of Compare.
type comparison struct {
	slot   time.Duration // the time of a function in a round
	series []*series
	canary canary
	rounds int
}

// run measures until the functions have run for the given time each, on average.
func (c *comparison) run(ctx context.Context, each time.Duration) error {
	for _, s := range c.series {
		if err := s.warmUp(ctx, c.slot); err != nil {
			return err
		}
	}
	order := make([]int, len(c.series))
	for i := range order {
		order[i] = i
	}
	var spent time.Duration
	for c.rounds == 0 || spent/time.Duration(len(c.series)) < each {
		c.canary.measureOnce()
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if err := c.series[i].round(ctx); err != nil {
				return err
			}
			spent += c.series[i].last.took
		}
		// A round counts when it is complete, since times are only compared within a round.
		for _, s := range c.series {
			s.count()
		}
		c.rounds++
	}
	return nil
}

// A series has what was measured for a function.
type series struct {
	Function
	batch  int       // number of calls in a round
	alone  bool      // each call is timed separately
	last   round     // of the warm-up, or of a round that is not complete yet
	rounds []float64 // seconds per call, of complete rounds
	calls  reservoir // seconds, of single calls, or of batches if calls are not timed separately
	made   int       // number of calls
	allocs uint64
	bytes  uint64
}

// A round is what was measured in one round for a function.
type round struct {
	took   time.Duration
	calls  []float64 // seconds, if calls are timed separately
	allocs uint64
	bytes  uint64
}

// warmUp calls the function for a while, and determines how many calls fill a slot by the fastest of its attempts: on a busy machine the
// other attempts take longer, and functions whose slots differ in length would be disturbed differently.
func (s *series) warmUp(ctx context.Context, slot time.Duration) error {
	quickest := math.Inf(1)
	for s.batch = 1; ; s.batch *= 2 {
		var spent time.Duration
		s.alone = quickest >= float64(timedAlone) && !math.IsInf(quickest, 1)
		for range warmUps {
			if err := s.timed(ctx); err != nil {
				return err
			}
			took := s.last.took
			if took > 0 { // the clock of some systems moves in steps
				quickest = min(quickest, float64(took)/float64(s.batch))
			}
			if spent += took; spent > slot*warmUps {
				break
			}
		}
		if math.IsInf(quickest, 1) {
			if s.batch >= mostCalls {
				return s.tookNoTime()
			}
			continue
		}
		if quickest*float64(s.batch) >= float64(slot)/2 || s.batch >= mostCalls {
			s.batch = int(max(1, min(float64(slot)/quickest, mostCalls)))
			if s.alone = quickest >= float64(timedAlone); s.alone {
				s.last.calls = make([]float64, 0, s.batch) // appending allocates nothing, since that would be counted
			}
			return nil
		}
	}
}

// round calls the function often enough to fill its slot.
func (s *series) round(ctx context.Context) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := s.timed(ctx)
	runtime.ReadMemStats(&after)
	if err == nil && s.last.took == 0 {
		err = s.tookNoTime()
	}
	s.last.allocs, s.last.bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return err
}

// count adds the last round to what was measured.
func (s *series) count() {
	each := s.last.took.Seconds() / float64(s.batch)
	s.rounds = append(s.rounds, each)
	if !s.alone {
		s.calls.add(each)
	}
	for _, took := range s.last.calls {
		s.calls.add(took)
	}
	s.made += s.batch
	s.allocs += s.last.allocs
	s.bytes += s.last.bytes
}

// tookNoTime returns the error for a batch during which the clock has not moved: there is no ratio of such times.
func (s *series) tookNoTime() error {
	return fmt.Errorf("measure: %s: %d calls took no time by the clock: give a longer Config.Time; "+
		"in a bubble of testing/synctest nothing but waiting takes time", printable(s.name), s.batch)
}

// timed calls the function batch times, and records how long that took, and each call. A call has ended when its tasks have: those of
// calls that are timed together end with the last of these calls, because a scope for each would take as long as they do.
func (s *series) timed(ctx context.Context) error {
	s.last.calls = s.last.calls[:0]
	var begin time.Time
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		begin = time.Now()
		for range s.batch {
			if err := s.callOnce(ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}, meanwhile.Name(s.name))
	s.last.took = time.Since(begin)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("measure: %s: %w", printable(s.name), err)
	}
	return err
}

func (s *series) callOnce(ctx context.Context) error {
	if !s.alone {
		return s.call(ctx)
	}
	begin := time.Now()
	if err := meanwhile.Run(ctx, s.call); err != nil {
		return err
	}
	s.last.calls = append(s.last.calls, time.Since(begin).Seconds())
	return nil
}
