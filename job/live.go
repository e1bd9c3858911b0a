package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// The bounds of what a worker works on, in its Config and when it is changed.
const (
	mostConcurrency = 1_000_000
	mostQueues      = 1000
	mostCrons       = 1000
)

// A workload is what of a worker's config can be changed while it runs. It is replaced whole.
type workload struct {
	concurrency int
	queues      []QueueConfig // their Concurrency is never zero
	weighted    bool
	crons       []*cronState

	given    []QueueConfig   // the queues as they were given
	replaced context.Context // canceled when another has taken its place
	replace  func()
}

// newWorkload checks what a worker is to work on.
func newWorkload(concurrency int, queues []QueueConfig, crons []Cron) (*workload, error) {
	l := &workload{concurrency: concurrency, given: slices.Clone(queues), queues: slices.Clone(queues)}
	switch {
	case concurrency < 1 || concurrency > mostConcurrency:
		return nil, fmt.Errorf("a concurrency of %d: give from 1 to %d", concurrency, mostConcurrency)
	case len(queues) == 0:
		return nil, errors.New("no queue: give one at least; to claim nothing for a while, leave the order CommandQuiet or pause the queues")
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

// SetConcurrency changes how many jobs run at once, from 1 to a million; for queues without a Concurrency of their own, too. When it is
// less than before, the jobs that run go on, and none is claimed until there are fewer. It may be called at any time.
func (w *Worker) SetConcurrency(n int) error {
	return w.change("concurrency", func(l *workload) (*workload, error) { return newWorkload(n, l.given, cronsOf(l.crons)) })
}

// SetQueues changes which queues the worker works on, one to a thousand, and how. Jobs of a queue that is left out go on if they run,
// and others of it are not claimed by this worker. It may be called at any time.
func (w *Worker) SetQueues(queues ...QueueConfig) error {
	return w.change("queues", func(l *workload) (*workload, error) { return newWorkload(l.concurrency, queues, cronsOf(l.crons)) })
}

// SetCrons changes the crons that this worker enqueues for, none to a thousand. One that is new, or has another
// spec, begins with its next tick; one that had the same name and spec goes on as it was. Jobs that were enqueued stay. It may be called at any time.
func (w *Worker) SetCrons(crons ...Cron) error {
	return w.change("crons", func(l *workload) (*workload, error) { return newWorkload(l.concurrency, l.given, crons) })
}

// change replaces the workload, and wakes the loops that go by it.
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

// whileLoaded calls fn, whose ctx ends when the workload is replaced as well. It reports whether it was.
func (l *workload) whileLoaded(ctx context.Context, fn func(ctx context.Context) error) (replaced bool, err error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	unhook := context.AfterFunc(l.replaced, cancel)
	defer unhook()
	err = fn(inner)
	return ctx.Err() == nil && l.replaced.Err() != nil, err
}
