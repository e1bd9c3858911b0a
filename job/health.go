package job

import (
	"sync/atomic"
	"time"
)

// health is what a worker knows of itself. It outlives a run.
type health struct {
	claimed, settled atomic.Int64 // Unix time in ns of the last call that went well
	err              atomic.Pointer[string]
}

// Health tells whether a worker does its work, not only whether its process is up.
type Health struct {
	Claimed time.Time // when it asked the store for jobs last and was answered; zero before the first time
	Settled time.Time // when it wrote an outcome last
	Trouble string    // with the store, since the last call that went well; "" for none
}

// Health returns how the worker is. A worker that has room for jobs claims at least once each Config.Poll; one that is full
// does not claim until a job ends.
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
	}
	return h
}

// observe tells the observer. If that panics, the job it is about must not stay running for ever.
func (r *run) observe(e Event) {
	if r.config.Observe == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.config.Logger.Error("job: Config.Observe panicked", "event", e.Kind, "panic", v)
		}
	}()
	e.Worker = r.config.Name
	r.config.Observe(e)
}

// storeFailed reports the nth failure in a row: the first at once, later ones each time their number has doubled.
func (r *run) storeFailed(what string, n int, err error) {
	text := what + ": " + err.Error()
	r.health.err.Store(&text)
	if n&(n-1) == 0 {
		r.config.Logger.Warn("job: trouble with the store", "what", what, "failures", n, "error", err)
	}
	r.observe(Event{Kind: StoreFailed, Err: err, N: n})
}

// storeRecovered reports that a call went well again, and returns the new number of failures in a row.
func (r *run) storeRecovered() int {
	if r.health.err.Swap(nil) != nil {
		r.config.Logger.Info("job: the store answers again")
		r.observe(Event{Kind: StoreRecovered})
	}
	return 0
}
