package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	defaultConcurrency = 100
	defaultLease       = 30 * time.Second
	leastLease         = 100 * time.Millisecond
	defaultPoll        = time.Second
	defaultGrace       = 5 * time.Second
)

// A Worker claims jobs from a store and runs their handlers, each as a task.
type Worker struct {
	store    Store
	config   Config
	handlers map[string]*Handler
	changing sync.Mutex // one change of load at a time
	load     atomic.Pointer[workload]
	kinds    []string // of the handlers, sorted
	durable  bool     // claims must survive a power failure: some kind runs at most once
	health   health
	err      error // the error of the config
}

// NewWorker returns a worker; [Worker.Run] starts it, and returns an error if the config or the handlers are invalid.
func NewWorker(store Store, config Config, handlers ...Handler) *Worker {
	w := &Worker{store: store, config: config, handlers: map[string]*Handler{}}
	w.err = w.prepare(handlers)
	return w
}

// prepare fills in the defaults and checks the config and the handlers.
func (w *Worker) prepare(handlers []Handler) error {
	c := &w.config
	queues := []string{DefaultQueue}
	for _, h := range handlers {
		if _, twice := w.handlers[h.kind]; twice {
			return fmt.Errorf("two handlers for job kind %q: give one", h.kind)
		}
		for _, m := range slices.Backward(c.Middleware) {
			h.run = m(h.run)
		}
		w.handlers[h.kind] = &h
		w.durable = w.durable || h.once
		queues = append(queues, h.queue)
	}
	w.kinds = slices.AppendSeq([]string{}, maps.Keys(w.handlers)) // not nil: a worker without handlers claims nothing
	slices.Sort(w.kinds)
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	c.Lease = cmp.Or(c.Lease, defaultLease)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.Grace = max(cmp.Or(c.Grace, defaultGrace), 0)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Name = cmp.Or(c.Name, workerName())
	if c.Retention == nil {
		c.Retention = map[State]time.Duration{Completed: 24 * time.Hour, Canceled: 7 * 24 * time.Hour, Discarded: 30 * 24 * time.Hour}
	}
	switch {
	case c.Lease < leastLease:
		return fmt.Errorf("a lease of %v: give at least %v", c.Lease, leastLease)
	case c.Poll < 0:
		return fmt.Errorf("a poll interval of %v: give a positive duration", c.Poll)
	}
	if err := checkText("the name of the worker", "the name of the worker", c.Name, MaxKey); err != nil {
		return err
	}
	if len(c.Queues) == 0 {
		slices.Sort(queues)
		for _, q := range slices.Compact(queues) {
			c.Queues = append(c.Queues, QueueConfig{Name: q})
		}
	}
	for state := range c.Retention {
		if !state.Finished() {
			return fmt.Errorf("a retention for jobs that are %s: only those that have finished are pruned", state)
		}
	}
	load, err := newWorkload(c.Concurrency, c.Queues, c.Crons)
	w.load.Store(load)
	return err
}

func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%06x", host, os.Getpid(), rand.N(1<<24))
}

// Run claims and runs jobs until ctx is canceled, or the worker is stopped by a [CommandStop], and then stops gracefully: it claims no more, lets
// running jobs end within the grace, cancels the others with ErrStopping and releases them to their queue, and returns nil. Before that it
// returns only if the config is invalid, the store does not answer at the start or is closed, or its schema does not fit. Later errors of
// the store are reported (Config.Observe, Config.Logger) and do not end Run: calls are repeated.
//
// Each job runs as a task below ctx's, so that the tree shows what it waits for. Run returns when all of them have ended; a
// handler that ignores its cancellation holds it up, and the lease is renewed until the handler returns. Run must not be called
// again while it runs.
func (w *Worker) Run(ctx context.Context) error {
	if w.err != nil {
		return fmt.Errorf("worker: %w", w.err)
	}
	r := newRun(w)
	w.health.run.Store(r)
	defer w.health.run.Store(nil)
	switch err := w.store.Ping(ctx); {
	case ctx.Err() != nil:
		return nil // stopped before it has started
	case err != nil:
		return fmt.Errorf("worker: %w", err)
	}
	err := meanwhile.Shield(ctx, math.MaxInt64, func(inner context.Context) error {
		return r.work(ctx, inner)
	}, meanwhile.Name("worker"))
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// fatal reports whether retrying cannot fix an error of the store.
func fatal(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrNoSchema) || errors.Is(err, ErrSchema)
}

// version is the version of the program, which workers report with each renewal. It is read once: reading it takes longer than the rest of a
// renewal.
var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
})
