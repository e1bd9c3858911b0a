package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Bounds of the workload of a worker, in its Config and when it is changed.
const (
	mostConcurrency = 1_000_000
	mostQueues      = 1000
	mostCrons       = 1000
)

// A workload is the part of a worker's config that can be changed while it runs. It is replaced as a whole.
type workload struct {
	concurrency int
	queues      []QueueConfig // their Concurrency is never zero
	weighted    bool
	crons       []*cronState

	given    []QueueConfig   // the queues as the caller gave them
	replaced context.Context // canceled when another workload replaces this one
	replace  func()
}

// newWorkload checks a workload, and fills in its defaults.
func newWorkload(concurrency int, queues []QueueConfig, crons []Cron) (*workload, error) {
	l := &workload{concurrency: concurrency, given: slices.Clone(queues), queues: slices.Clone(queues)}
	switch {
	case concurrency < 1 || concurrency > mostConcurrency:
		return nil, fmt.Errorf("a concurrency of %d: give from 1 to %d", concurrency, mostConcurrency)
	case len(queues) == 0:
		return nil, errors.New("no queue: give one at least; to claim nothing for a while, send it CommandQuiet or pause the queues")
	case len(queues) > mostQueues:
		return nil, fmt.Errorf("%d queues: give at most %d", len(queues), mostQueues)
	case len(crons) > mostCrons:
		return nil, fmt.Errorf("%d crons: give at most %d", len(crons), mostCrons)
	}
	seen := map[string]bool{}
	for i := range l.queues {
		q := &l.queues[i]
		if err := checkName("queue", q.Name); err != nil {
			return nil, err
		}
		if seen[q.Name] {
			return nil, fmt.Errorf("queue %q is named twice", q.Name)
		}
		seen[q.Name] = true
		if q.Concurrency < 0 || q.Weight < 0 {
			return nil, fmt.Errorf("queue %q: a concurrency of %d and a weight of %d: neither may be negative", q.Name, q.Concurrency, q.Weight)
		}
		q.Concurrency = cmp.Or(q.Concurrency, concurrency)
		l.weighted = l.weighted || q.Weight > 0
	}
	var err error
	if l.crons, err = prepareCrons(crons); err != nil {
		return nil, err
	}
	l.replaced, l.replace = context.WithCancel(context.Background())
	return l, nil
}

// SetConcurrency changes how many jobs run at once, from 1 to a million, also for queues without a Concurrency of their own. If it is lowered,
// running jobs continue, and none is claimed until fewer are running. It may be called at any time.
func (w *Worker) SetConcurrency(n int) error {
	return w.change("concurrency", func(l *workload) (*workload, error) { return newWorkload(n, l.given, cronsOf(l.crons)) })
}

// SetQueues changes the queues that the worker claims from, one to a thousand, and their settings. Running jobs of a queue that is left out
// continue; the worker claims no more of them. It may be called at any time.
func (w *Worker) SetQueues(queues ...QueueConfig) error {
	return w.change("queues", func(l *workload) (*workload, error) { return newWorkload(l.concurrency, queues, cronsOf(l.crons)) })
}

// SetCrons changes the crons that this worker enqueues jobs for, none to a thousand. A cron that no worker has reported before, or that has another
// spec, starts with its next tick; one with the same name and spec as before continues; one that comes back has missed ticks, see [CatchUp]. Jobs
// that were enqueued stay. It may be called at any time.
func (w *Worker) SetCrons(crons ...Cron) error {
	return w.change("crons", func(l *workload) (*workload, error) { return newWorkload(l.concurrency, l.given, crons) })
}

// change replaces the workload, and wakes the loops that use it.
func (w *Worker) change(what string, next func(*workload) (*workload, error)) error {
	if w.err != nil {
		return fmt.Errorf("worker: %w", w.err)
	}
	w.changing.Lock()
	defer w.changing.Unlock()
	before := w.load.Load()
	l, err := next(before)
	if err != nil {
		return fmt.Errorf("worker: set %s: %w", what, err)
	}
	w.load.Store(l)
	before.replace()
	if r := w.health.run.Load(); r != nil {
		signal(r.capacityFreed)
		signal(r.notice)
	}
	return nil
}

// whileLoaded calls fn with a ctx that also ends when the workload is replaced. It reports whether it was.
func (l *workload) whileLoaded(ctx context.Context, fn func(ctx context.Context) error) (replaced bool, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	unhook := context.AfterFunc(l.replaced, cancel)
	defer unhook()
	err = fn(inner)
	return ctx.Err() == nil && l.replaced.Err() != nil, err
}
