//go:build unix

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	drainLimit = 90 * time.Second // how long it may take until one more job ends after the last fault
	storeLimit = 20 * time.Second // how long the store may take to answer the program itself when all faults are undone
	maxShown   = 20               // violations of a round that are printed
)

// A round is a part of the run with its own database: it injects faults, waits until all jobs have ended, and compares.
type round struct {
	config
	*site
	url     string // of the store, as the processes reach it
	direct  string // the same for the program itself, without the proxy
	ledgers string // folder
	faults  func(workers, enqueuers []*harm.Process) []harm.Fault

	ticksFrom, ticksTo int64 // of the cron, in seconds since 1970: there must be jobs for all of them

	mu         sync.Mutex
	counts     map[string]int
	violations []string
	hidden     int // violations that are not kept
}

// violated records a violation.
func (o *round) violated(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.violations) >= maxShown {
		o.hidden++
		return
	}
	o.violations = append(o.violations, fmt.Sprintf(format, args...))
}

// count adds one to a row of the table.
func (o *round) count(name string) { o.add(name, 1) }

func (o *round) add(name string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[name] += n
}

// run runs the round, with faults for the duration d.
func (o *round) run(ctx context.Context, d time.Duration) error {
	store, err := o.openStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := o.noteCron(ctx, store); err != nil {
		return err
	}
	if err := setLimits(ctx, store); err != nil {
		return err
	}
	if o.prepare != nil {
		if err := o.prepare(ctx, store); err != nil {
			return err
		}
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		workers, stopWorkers, err := o.start(ctx, "worker", o.workers)
		if err != nil {
			return err
		}
		enqueuers, stopEnqueuers, err := o.start(ctx, "enqueuer", o.enqueuers)
		if err != nil {
			return err
		}
		operator := meanwhile.Go(ctx, func(ctx context.Context) error { return o.operate(ctx, store) }, meanwhile.Name("operator"))
		sweeper := meanwhile.Go(ctx, func(ctx context.Context) error { return o.sweep(ctx, store) }, meanwhile.Name("sweeper"))
		if o.drive != nil {
			err = o.drive(ctx, o, store, workers, enqueuers)
		} else {
			err = o.inject(ctx, o.faults(workers, enqueuers), d)
		}
		if err != nil {
			return err
		}
		if err := stopEnqueuers(); err != nil {
			return err
		}
		if err := o.drain(ctx, store); err != nil {
			return err
		}
		if err := stopWorkers(); err != nil {
			return err
		}
		if err := harm.End(ctx, operator, sweeper); err != nil {
			return err
		}
		if err := o.sweepAtEnd(ctx, store); err != nil {
			return err
		}
		return o.verify(ctx, store)
	}, meanwhile.Name("round"))
}

// openStore opens the store for the program itself and makes its tables.
func (o *round) openStore(ctx context.Context) (job.Store, error) {
	store, err := job.Open(ctx, o.direct)
	if err != nil {
		return nil, err
	}
	if m, ok := store.(interface{ Migrate(context.Context) error }); ok {
		if err := m.Migrate(ctx); err != nil {
			store.Close()
			return nil, err
		}
	}
	return store, nil
}

// start starts n processes of a role, and returns them with a function that ends them in order.
func (o *round) start(ctx context.Context, role string, n int) ([]*harm.Process, func() error, error) {
	var all []*harm.Process
	var tasks []*meanwhile.Task[struct{}]
	for i := range n {
		p, err := o.newProcess(role, i)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, p)
		tasks = append(tasks, meanwhile.Go(ctx, p.Run, meanwhile.Name(p.Name)))
	}
	return all, func() error { return harm.End(ctx, tasks...) }, nil
}

// noteCron registers the cron before any worker does. All ticks from then on are due.
func (o *round) noteCron(ctx context.Context, store job.Store) error {
	now := time.Now()
	if _, err := store.Tick(ctx, job.Tick{Cron: cron.Name, Spec: cron.Spec, At: now, Next: now.Add(time.Second)}); err != nil {
		return err
	}
	o.ticksFrom = now.Unix() + 1
	return nil
}

// stopCron pauses the cron when it has caught up, and records its last tick.
func (o *round) stopCron(ctx context.Context, store job.Store) error {
	const near = 3 // seconds
	for begun := time.Now(); ; {
		last, err := lastTick(ctx, store)
		if err != nil {
			return err
		}
		behind := time.Now().Unix() - last
		if behind <= near {
			break
		}
		if time.Since(begun) > drainLimit {
			o.violated("the cron is %d s behind, %v after the last fault", behind, drainLimit)
			break
		}
		if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	err := patiently(ctx, func(ctx context.Context) error { return store.PauseCron(ctx, cron.Name, true) })
	if err != nil {
		return err
	}
	o.ticksTo, err = lastTick(ctx, store)
	return err
}

func lastTick(ctx context.Context, store job.Store) (last int64, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		infos, err := store.Crons(ctx)
		if err == nil && (len(infos) != 1 || infos[0].Name != cron.Name) {
			err = fmt.Errorf("the store knows the crons %+v, want %s alone", infos, cron.Name)
		}
		if err == nil {
			last = infos[0].Last.Unix()
		}
		return err
	})
	return last, err
}

// drain stops the cron and waits until no job is unfinished.
func (o *round) drain(ctx context.Context, store job.Store) error {
	begun := time.Now()
	if err := o.stopCron(ctx, store); err != nil {
		return err
	}
	fewest, since := int64(math.MaxInt64), begun
	for {
		left, err := unfinished(ctx, store)
		if err != nil {
			return err
		}
		if left < fewest {
			fewest, since = left, time.Now()
		}
		switch {
		case left == 0:
			o.mu.Lock()
			o.drained = max(o.drained, time.Since(begun))
			o.mu.Unlock()
			return nil
		case time.Since(since) > drainLimit:
			return o.stuck(ctx, store, left)
		}
		if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// unfinished returns how many jobs are queued or run.
func unfinished(ctx context.Context, store job.Store) (n int64, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		counts, err := store.Counts(ctx)
		n = 0
		for _, c := range counts {
			if c.State == job.Queued || c.State == job.Running {
				n += c.N
			}
		}
		return err
	})
	return n, err
}

// stuck reports some of the jobs that do not end.
func (o *round) stuck(ctx context.Context, store job.Store, all int64) error {
	var left []*job.Job
	err := patiently(ctx, func(ctx context.Context) (err error) {
		left, err = store.List(ctx, job.Filter{States: []job.State{job.Queued, job.Running}, Limit: 5})
		return err
	})
	for _, j := range left {
		o.violated("job %v (%s) is still %s, one of %d of which none has ended for %v after the last fault: %s", j.ID, j.Kind, j.State, all, drainLimit, show(j))
	}
	return err
}

// patiently repeats a call of the store until it succeeds, for up to storeLimit: what was broken may take a moment to recover.
func patiently(ctx context.Context, call func(context.Context) error) error {
	for begun := time.Now(); ; {
		err := call(ctx)
		if err == nil || ctx.Err() != nil || time.Since(begun) > storeLimit {
			return err
		}
		if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// newRound prepares the nth round: its folder, and its database.
func (s *site) newRound(ctx context.Context, c config, n int) (*round, error) {
	o := &round{config: c, site: s, counts: s.counts, ledgers: filepath.Join(s.folder, "ledgers-"+strconv.Itoa(n))}
	o.seed += uint64(n) << 40
	if err := os.Mkdir(o.ledgers, 0o755); err != nil {
		return nil, err
	}
	name := "faults" + strconv.Itoa(n)
	if s.server != nil {
		if err := s.server.createDatabase(ctx, name); err != nil {
			return nil, err
		}
		o.direct, o.url = databaseURL(s.server.port, name), databaseURL(s.proxy.Port(), name)
		o.faults = func(workers, enqueuers []*harm.Process) []harm.Fault {
			return slices.Concat(processFaults(c.lease, workers, enqueuers), serverFaults(s.server), s.proxy.Faults(), clockFaults(c.lease, workers, enqueuers))
		}
		return o, nil
	}
	if s.redis != nil {
		o.direct, o.url = redisURL(s.redis.port, name), redisURL(s.proxy.Port(), name)
		o.faults = func(workers, enqueuers []*harm.Process) []harm.Fault {
			return slices.Concat(processFaults(c.lease, workers, enqueuers), s.redis.faults(), s.proxy.Faults(), clockFaults(c.lease, workers, enqueuers))
		}
		return o, nil
	}
	folder := filepath.Join(s.disk.Folder, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	o.direct = "sqlite:" + filepath.Join(folder, "jobs.db")
	o.url = o.direct
	o.faults = func(workers, enqueuers []*harm.Process) []harm.Fault {
		return append(processFaults(c.lease, workers, enqueuers), s.disk.Faults()...)
	}
	return o, nil
}

// over removes the files of the round.
func (o *round) over() error {
	if o.keep {
		return nil
	}
	if o.disk != nil {
		if err := os.RemoveAll(filepath.Dir(o.direct[len("sqlite:"):])); err != nil {
			return err
		}
	}
	return os.RemoveAll(o.ledgers)
}
