package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	noteEach  = time.Minute // how often the crons are reported to the store, as a sign that a worker has them
	tickRetry = time.Second // after a failure
)

// A cronState is a cron and its state in this worker.
type cronState struct {
	Cron
	schedule *schedule
	last     time.Time // the last tick that was enqueued or left out, by any worker
	seen     time.Time // up to when this worker has enqueued what was due
}

func prepareCrons(given []Cron) ([]*cronState, error) {
	var crons []*cronState
	seen := map[string]bool{}
	for _, c := range given {
		if err := checkName("cron", c.Name); err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("two crons are named %q", c.Name)
		}
		seen[c.Name] = true
		if c.Job == nil {
			return nil, fmt.Errorf("cron %q has no Job: give a function that makes one, such as that of Kind.Maker", c.Name)
		}
		if c.Zone == nil {
			c.Zone = time.UTC
		}
		s, err := parseSpec(c.Spec, c.Zone)
		if err != nil {
			return nil, fmt.Errorf("cron %q: %w", c.Name, err)
		}
		crons = append(crons, &cronState{Cron: c, schedule: s})
	}
	return crons, nil
}

func cronsOf(states []*cronState) []Cron {
	crons := make([]Cron, len(states))
	for i, c := range states {
		crons[i] = c.Cron
	}
	return crons
}

// cronLoop enqueues the jobs of crons at their ticks. All workers do this, by the store's clock, and the store counts each tick once. If workers
// used their own clocks, one that is ahead would use up the ticks of all others until then.
func (r *run) cronLoop(ctx context.Context) error {
	select {
	case <-r.clock.known:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	before := map[string]*cronState{}
	for {
		load := r.load.Load()
		now := r.clock.at(time.Now())
		for _, c := range load.crons {
			c.seen = now
			if b := before[c.Name]; b != nil {
				if c.last, c.seen = b.last, b.seen; b.schedule.String() != c.schedule.String() {
					c.last = latest(b.last, b.seen) // earlier ticks of the new spec were not missed
				}
			}
		}
		replaced, err := load.whileLoaded(ctx, func(ctx context.Context) error { return r.tickCrons(ctx, load.crons) })
		if !replaced {
			return err
		}
		clear(before)
		for _, c := range load.crons {
			before[c.Name] = c
		}
	}
}

// tickCrons is cronLoop for one set of crons.
func (r *run) tickCrons(ctx context.Context, crons []*cronState) error {
	if len(crons) == 0 {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	var noted time.Time
	for {
		var err error
		if now := time.Now(); now.Sub(noted) >= noteEach {
			if err = r.noteCrons(ctx, crons, r.clock.at(now)); err == nil {
				noted = now
			}
		}
		// A cron whose last tick is not known could enqueue that tick again.
		known := slices.DeleteFunc(slices.Clone(crons), func(c *cronState) bool { return c.last.IsZero() })
		wait, tickErr := r.tickAll(ctx, known)
		err = errors.Join(err, tickErr)
		if fatal(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			wait = tickRetry
			r.config.Logger.Warn("job: crons", "error", err)
		}
		if err := meanwhile.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// noteCrons reports the crons to the store, and reads their last ticks. A cron that the store does not accept holds up no other; noteCrons returns
// the errors of all.
func (r *run) noteCrons(ctx context.Context, crons []*cronState, now time.Time) error {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	var failed []error
	for _, c := range crons {
		tick := Tick{Cron: c.Name, Spec: c.schedule.String(), Next: c.schedule.next(now)}
		if _, err := r.store.Tick(call, tick); err != nil {
			failed = append(failed, fmt.Errorf("note cron %q: %w", c.Name, err))
			if fatal(err) || call.Err() != nil {
				break
			}
		}
	}
	infos, err := r.store.Crons(call)
	if err != nil {
		return errors.Join(append(failed, fmt.Errorf("read the crons: %w", err))...)
	}
	last := make(map[string]time.Time, len(infos))
	for _, info := range infos {
		last[info.Name] = info.Last
	}
	for _, c := range crons {
		if l := last[c.Name]; l.After(c.last) {
			c.last = l
		}
	}
	return errors.Join(failed...)
}

// tickAll enqueues the ticks that are due, and returns how long to wait for the next. A cron whose job the store does not accept, or not in time,
// as while a transaction of somebody else holds its unique key, holds up no other. If the store does not answer, tickAll does not try the remaining
// crons.
func (r *run) tickAll(ctx context.Context, crons []*cronState) (time.Duration, error) {
	until := time.Now().Add(noteEach)
	var failed []error
	for _, c := range crons {
		begun := time.Now()
		now := r.clock.at(begun)
		if err := r.tickDue(ctx, c, now); err != nil {
			failed = append(failed, err)
			if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) && !r.pings(ctx) {
				break
			}
		}
		if next := c.schedule.next(now); !next.IsZero() {
			until = earlier(until, begun.Add(next.Sub(now)))
		}
	}
	return time.Until(until), errors.Join(failed...)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (r *run) tickDue(ctx context.Context, c *cronState, now time.Time) error {
	for _, at := range due(c.schedule, c.last, c.seen, now, c.CatchUp) {
		if err := r.tick(ctx, c, at, at); err != nil {
			return fmt.Errorf("cron %q at %v: %w", c.Name, at, err)
		}
		c.last = at
	}
	c.seen = now
	return nil
}

// tick enqueues the job of the tick at. The store records counts as its time, and ignores it if its last tick is at that time or later.
func (r *run) tick(ctx context.Context, c *cronState, at, counts time.Time) error {
	j, err := c.makeJob(at)
	if err != nil {
		r.config.Logger.Error("job: a cron could not make its job: the tick is left out", "cron", c.Name, "at", at, "error", err)
	}
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	tick := Tick{Cron: c.Name, Spec: c.schedule.String(), At: counts, Next: c.schedule.next(at), Job: j} // without a job, it only reports Next
	ours, err := r.store.Tick(call, tick)
	if ours {
		r.observe(Event{Kind: CronTicked, Job: j, Cron: c.Name})
	}
	return err
}

// makeJob calls the cron's function, and adds the name of the cron to the Meta of the job.
func (c *cronState) makeJob(at time.Time) (*Job, error) {
	j, err := c.callJob(at.In(c.Zone))
	if j == nil || err != nil {
		return nil, err
	}
	if err := checkMade(j); err != nil {
		return nil, err
	}
	noted := *j
	if noted.Meta = maps.Clone(j.Meta); noted.Meta == nil {
		noted.Meta = map[string]string{}
	}
	if _, given := noted.Meta[MetaCron]; !given {
		noted.Meta[MetaCron] = c.Name
	}
	if checkMeta(noted.Meta) != nil { // the Meta is full
		return j, nil
	}
	return &noted, nil
}

// callJob calls the function of the program, in a goroutine that it may end: a panic and runtime.Goexit become errors.
func (c *cronState) callJob(at time.Time) (j *Job, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		err = meanwhile.ErrGoexit // unless it returns
		j, err = c.Job(at)
	}()
	<-ended
	return j, err
}
