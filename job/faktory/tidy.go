package faktory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// tidy removes clients that are gone from the list of workers, and reads jobs that other servers have given to those that are here.
func (cs *clients) tidy(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	synced := time.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for gone := cs.someGone(); len(gone) > 0 && ctx.Err() == nil; gone = cs.someGone() {
			cs.leave(ctx, gone)
		}
		if now := time.Now(); now.Sub(synced) >= eachSync {
			synced = now
			cs.sync(ctx)
		}
	}
}

// someGone returns clients to remove from the list of workers. It returns each once.
func (cs *clients) someGone() []*client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	n := min(len(cs.gone), mostLeaving)
	some := slices.Clone(cs.gone[:n])
	if cs.gone = cs.gone[n:]; len(cs.gone) == 0 {
		cs.gone = nil
	}
	return some
}

// sync is takeOver for all clients, which another server may have served until it ended. Jobs that it does not read in time are read another time.
func (cs *clients) sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eachSync)
	defer cancel()
	for j, err := range job.List(ctx, cs.server.config.Store, job.Filter{States: []job.State{job.Running}, Limit: 100 * mostSynced}) {
		if err != nil {
			return // it is tried again
		}
		j.Args = nil // as in runningJobs
		wid, ours := strings.CutPrefix(j.Worker, namePrefix)
		if cl := cs.find(wid); ours && cl != nil {
			cs.addUnknown(cl, j)
		}
	}
}

// leave removes clients from the list of workers, unless they have gone to another server.
func (cs *clients) leave(ctx context.Context, gone []*client) {
	if len(gone) == 0 {
		return
	}
	names := make([]string, len(gone))
	for i, cl := range gone {
		names[i] = cl.name
	}
	within, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	workers, err := cs.server.config.Store.Workers(within, names...)
	if err != nil {
		return
	}
	listed := make(map[string]job.WorkerInfo, len(workers))
	for _, w := range workers {
		listed[w.Name] = w
	}
	_ = meanwhile.Each(ctx, meanwhile.From(slices.Values(gone)), func(ctx context.Context, cl *client) error {
		w, known := listed[cl.name]
		if !known || !cs.mayLeave(cl, w) {
			return nil
		}
		if err := cs.leaveOne(ctx, cl, w); err != nil && ctx.Err() == nil {
			cs.server.config.Logger.Warn("faktory: a client was not taken off the list", "wid", cl.wid, "error", err)
		}
		return nil
	}, meanwhile.Limit(mostLeaving))
}

// mayLeave reports whether a client is connected neither here again nor, as the list of workers says, to another server.
func (cs *clients) mayLeave(cl *client, w job.WorkerInfo) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.byWID[cl.wid] == nil && !w.Seen.After(cl.seen.Add(time.Second))
}

// leaveOne reports the counters of a client to the store, and removes it from the list of workers.
func (cs *clients) leaveOne(ctx context.Context, cl *client, w job.WorkerInfo) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := cs.server.claimer.Renew(ctx, job.Renewal{Worker: cl.name, Session: cl.session, Lease: lease, Info: w}); err != nil {
		return err
	}
	return cs.server.config.Store.Leave(ctx, cl.name, cl.session)
}
