package job

import (
	"context"
	"errors"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A run is one call of Worker.Run: the jobs that it holds, and the loops that process them.
//
//	claim loop ── start ──> attempt (a task each) ── finish ──> settle loop
//	    ^                                                           │
//	    └───────────── capacity: slots and unsettled jobs ──────────┘
//
// A job is in inFlight from its claim until it is settled or lost.
type run struct {
	*Worker
	started  time.Time
	ctx      context.Context // of the loops; stopping the worker does not cancel it
	jobs     context.Context // the scope of the attempts
	halt     func()          // stops the worker
	quiet    atomic.Bool     // by CommandQuiet: it claims no jobs, but does not stop
	lookout  lookout
	clock    *storeClock
	counters counters
	waits    kindWaits

	failures failureLog

	unsettled int // calls in a row of the settle loop that wrote only a part of their outcomes

	notice        chan struct{} // capacity 1: jobs may have become due
	capacityFreed chan struct{} // capacity 1: there may be capacity for jobs again
	done          chan struct{} // capacity 1: there are jobs to settle

	leaving chan struct{} // closed when there is nothing left to renew

	mu          sync.Mutex
	hold        hold
	inFlight    map[ID]*execution
	idle        []*slot        // the most recently busy one is the last
	leastIdle   int            // the fewest idle slots since the last trim
	slots       int            // started so far
	closing     bool           // a slot that becomes idle ends
	running     int            // attempts that have not ended
	inQueue     map[string]int // the same by queue
	finished    []*execution   // to settle
	settling    int            // taken from finished, not yet settled
	hasCapacity bool           // capacityFreed must be signaled when there may be capacity again
	full        bool           // the claim loop waits for capacity
	draining    bool           // the worker is stopping: it claims no more
	stopping    bool
	stopped     time.Time // when all attempts had ended
}

func newRun(w *Worker) *run {
	clock := newStoreClock()
	return &run{
		Worker:        w,
		clock:         clock,
		counters:      counters{worker: w.config.Name, clock: clock},
		failures:      failureLog{logger: w.config.Logger},
		started:       time.Now(),
		notice:        make(chan struct{}, 1),
		capacityFreed: make(chan struct{}, 1),
		done:          make(chan struct{}, 1),
		leaving:       make(chan struct{}),
		hold:          hold{session: NewSession()},
		inFlight:      map[ID]*execution{},
		inQueue:       map[string]int{},
	}
}

// signal wakes the receiver of a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// work runs the loops until stop is canceled and everything is settled.
func (r *run) work(stop, ctx context.Context) error {
	r.ctx = ctx
	stop, r.halt = context.WithCancel(stop)
	defer r.halt()
	settled := meanwhile.Go(ctx, r.settleLoop, meanwhile.Name("settle"), meanwhile.InBackground())
	renewing := meanwhile.Go(ctx, r.renewLoop, meanwhile.Name("renew"), meanwhile.InBackground())
	meanwhile.Go(ctx, r.expireLoop, meanwhile.Name("expire"), meanwhile.InBackground())

	var err error
	// A slot fails only when a handler calls runtime.Goexit, which is the failure of that attempt and of nothing else.
	_ = meanwhile.Supervise(ctx, func(jobs context.Context) error {
		r.jobs = jobs
		defer r.closeSlots()
		if err = r.claimUntil(stop); err != nil {
			r.cancelAll(ErrStopping)
			return err
		}
		r.stop()
		return nil
	}, meanwhile.Name("jobs"))

	r.mu.Lock()
	r.stopping, r.stopped = true, time.Now()
	r.mu.Unlock()
	signal(r.done)
	if _, settleErr := settled.Wait(ctx); err == nil {
		err = settleErr
	}
	if renewErr := r.endRenewing(ctx, renewing); err == nil && !errors.Is(renewErr, ErrStopping) {
		err = renewErr
	}
	r.leave()
	return err
}

// claimUntil claims and starts jobs until stop is canceled. It also runs the other loops that stop together with claiming.
func (r *run) claimUntil(stop context.Context) error {
	return meanwhile.Run(r.ctx, func(ctx context.Context) error {
		loops := meanwhile.Go(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, r.waitLoop, meanwhile.Name("wait"))
			meanwhile.Go(ctx, r.pruneLoop, meanwhile.Name("prune"))
			meanwhile.Go(ctx, r.levelLoop, meanwhile.Name("levels"))
			meanwhile.Go(ctx, r.cronLoop, meanwhile.Name("crons"))
			return r.claimLoop(ctx)
		}, meanwhile.Name("claim"))
		unhook := context.AfterFunc(stop, func() { loops.Cancel(ErrStopping) })
		defer unhook()
		_, err := loops.Wait(ctx)
		if errors.Is(err, ErrStopping) {
			return nil
		}
		return err
	}, meanwhile.Name("claiming"))
}

// stop lets the running jobs end within the grace and cancels the others.
func (r *run) stop() {
	timer := time.NewTimer(r.config.Grace)
	defer timer.Stop()
	for {
		r.mu.Lock()
		left := r.running
		r.hasCapacity, r.draining = true, true
		r.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-r.capacityFreed:
		case <-timer.C:
			r.cancelAll(ErrStopping)
			return
		}
	}
}

func (r *run) cancelAll(cause error) {
	r.mu.Lock()
	all := make([]*execution, 0, len(r.inFlight))
	for _, e := range r.inFlight {
		all = append(all, e)
	}
	r.mu.Unlock()
	for _, e := range all {
		e.cancel(cause)
	}
}

// endRenewing lets a renewal that is under way finish. If it were canceled, it could still reach the store after the worker has left, and list the
// worker again.
func (r *run) endRenewing(ctx context.Context, renewing *meanwhile.Task[struct{}]) error {
	close(r.leaving)
	patience := time.AfterFunc(lastCall, func() { renewing.Cancel(ErrStopping) })
	defer patience.Stop()
	_, err := renewing.Wait(ctx)
	return err
}

// leave reports the remaining stats, and removes the worker from the list, from which it would disappear by itself later.
func (r *run) leave() {
	ctx, cancel := context.WithTimeout(r.ctx, lastCall)
	defer cancel()
	r.failures.flush(time.Now(), true)
	if stats, _ := r.counters.report(time.Now(), true); len(stats) > 0 {
		_, _ = r.store.Renew(ctx, Renewal{Worker: r.config.Name, Session: r.session(), Lease: r.config.Lease, Info: r.info(), Stats: stats})
	}
	_ = r.store.Leave(ctx, r.config.Name, r.session())
}

// info returns what the worker reports about itself.
func (r *run) info() WorkerInfo {
	host, _ := os.Hostname()
	load := r.load.Load()
	info := WorkerInfo{
		Host:        host,
		PID:         os.Getpid(),
		Version:     version(),
		Started:     r.started,
		Concurrency: load.concurrency,
		Memory:      memory(),
	}
	for _, q := range load.queues {
		info.Queues = append(info.Queues, q.Name)
	}
	info.Kinds = r.kinds
	for _, c := range load.crons {
		info.Crons = append(info.Crons, c.Name)
	}
	info.Quiet = r.quiet.Load()
	path, _ := pprof.Label(r.ctx, "task")
	info.Waits = r.waits.latest(time.Now(), path+"/jobs/slot/", info.Kinds)
	r.mu.Lock()
	defer r.mu.Unlock()
	info.Running, info.Stopping = r.running, r.draining
	return info
}

// memory returns the bytes that the Go runtime has from the system.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
