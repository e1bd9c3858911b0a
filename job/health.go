package job

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// health is what a worker reports about itself in Health. It outlives a run.
type health struct {
	claimed, settled atomic.Int64 // Unix time in ns of the last successful call
	err              atomic.Pointer[string]
	run              atomic.Pointer[run] // nil while it does not run
}

// Health reports whether a worker does its work, not only whether its process is up.
type Health struct {
	Claimed time.Time // when it last asked the store for jobs and was answered; zero before the first time
	Settled time.Time // when it last wrote an outcome
	Trouble string    // with the store, since the last successful call, or with one of several stores, see [Joined.Health]; "" for none
	Warning string    // of a store that works, such as that it does not survive a restart; "" for none

	Started  time.Time // when Run was called; zero while it does not run, and so are all fields below
	Stopping bool      // it is stopping, and claims no more
	Full     bool      // it is at capacity, and does not claim until a job ends
	Running  int       // jobs, of at most Slots at once
	Slots    int
	Quiet    bool // it claims nothing because of a [CommandQuiet]; then Full is true as well
}

// Health returns the state of the worker. A worker with free slots claims at least once each Config.Poll; one at capacity does
// not claim until a job ends. It may be called by many goroutines at once.
func (w *Worker) Health() Health {
	var h Health
	if ns := w.health.claimed.Load(); ns != 0 {
		h.Claimed = time.Unix(0, ns)
	}
	if ns := w.health.settled.Load(); ns != 0 {
		h.Settled = time.Unix(0, ns)
	}
	if text := w.health.err.Load(); text != nil {
		h.Trouble = *text
	} else if j, ok := w.store.(*Joined); ok {
		h.Trouble = j.trouble()
	}
	if s, ok := w.store.(interface{ Warning() string }); ok {
		h.Warning = s.Warning()
	}
	if r := w.health.run.Load(); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		h.Quiet = r.quiet.Load()
		h.Started, h.Stopping, h.Full, h.Running, h.Slots = r.started, r.draining, r.full, r.running, r.load.Load().concurrency
	}
	return h
}

// observe calls the observer.
func (r *run) observe(e Event) {
	e.Worker = r.config.Name
	observe(r.config.Observe, r.config.Logger, e)
}

// observe calls an observer, or none if it is nil. If that panics, the job of the event must not stay running forever.
func observe(observer func(Event), logger *slog.Logger, e Event) {
	if observer == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			logger.Error("job: Config.Observe panicked", "event", e.Kind, "panic", v)
		}
	}()
	observer(e)
}

// storeFailed reports the nth failure in a row. It logs the first, and then each time that their number has doubled.
func (r *run) storeFailed(what string, n int, err error) {
	call, _, _ := strings.Cut(what, " ")
	text := what + ": " + err.Error()
	r.health.err.Store(&text)
	if n&(n-1) == 0 {
		r.config.Logger.Warn("job: trouble with the store", "what", what, "failures", n, "error", err)
	}
	r.observe(Event{Kind: StoreFailed, Err: err, N: n, Call: call})
}

// storeRecovered reports that a call succeeded again, and returns the new number of failures in a row.
func (r *run) storeRecovered() int {
	if r.health.err.Swap(nil) != nil {
		r.config.Logger.Info("job: the store answers again")
		r.observe(Event{Kind: StoreRecovered})
	}
	return 0
}
