package logs

import (
	"context"
	"sync"
	"time"
)

// An acceptor keeps what clients of the own protocol send where the routes say.
type acceptor struct {
	s *Server

	mu   sync.Mutex
	last map[Client]uint64 // of the clients whose newest records did not go to the store
}

// mostRemembered is how many clients an acceptor remembers that the store does not know.
const mostRemembered = 100_000

// Acceptor returns what [Sessions] append to. Batches go to the store as they are, with the numbers of their client, so that
// what comes again is known also when the process has been killed. Of what goes to files and sockets alone, the numbers
// are kept in memory.
func (s *Server) Acceptor() Acceptor { return &acceptor{s: s, last: map[Client]uint64{}} }

func (a *acceptor) Last(ctx context.Context, client Client) (last uint64, err error) {
	if store := a.s.config.Store; store != nil {
		if last, err = store.Last(ctx, client); err != nil {
			return 0, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(last, a.last[client]), nil
}

func (a *acceptor) Append(ctx context.Context, batches ...*Batch) error {
	f := &feed{s: a.s, way: a.s.wayCounts("meanwhile")}
	stored := make([]*Batch, 0, len(batches))
	for _, b := range batches {
		if kept := a.route(f, b); kept != nil {
			stored = append(stored, kept)
		}
	}
	// First the store: when it does not take them, they come again, and the files have not got them yet.
	if len(stored) > 0 {
		if err := a.s.config.Store.Append(ctx, stored...); err != nil {
			return err
		}
	}
	if err := f.Sync(ctx); err != nil {
		return err
	}
	a.remember(batches)
	return nil
}

// route gives records to all outputs but the store, and returns what is for that.
func (a *acceptor) route(f *feed, b *Batch) *Batch {
	if f.now == 0 {
		f.now = time.Now().UnixNano()
		f.routing = a.s.routing.Load()
	}
	plan, reason := f.routing.plan([]byte(b.Service))
	if plan == nil {
		f.Refuse(reason)
		return nil
	}
	plan.counts.records.Add(int64(b.Count))
	plan.counts.bytes.Add(int64(len(b.Data)))
	f.way.records.Add(int64(b.Count))
	f.way.bytes.Add(int64(len(b.Data)))
	if len(plan.outputs) == 1 && plan.outputs[0].store != nil && plan.outputs[0].gate == nil && plan.rate == nil {
		return b
	}
	f.plan = plan
	kept := &Batch{Service: b.Service, Client: b.Client, First: b.First, Last: b.Last}
	for v, err := range b.Views {
		if err != nil {
			f.Refuse("damaged record")
			break
		}
		if plan.rate != nil && !plan.rate.take(f.now) {
			plan.counts.limited.Add(1)
			continue
		}
		stored := false
		for i := range plan.outputs {
			switch o := &plan.outputs[i]; {
			case !o.gate.take(v):
			case o.store == nil:
				f.put(f.stage(o.stageKey), v, v.Time)
			case !stored:
				kept.Add(v)
				stored = true
			}
		}
	}
	if kept.Count == 0 {
		return nil
	}
	return kept
}

// remember keeps the highest numbers.
func (a *acceptor) remember(batches []*Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range batches {
		if b.Client == (Client{}) || b.Last <= a.last[b.Client] {
			continue
		}
		if len(a.last) >= mostRemembered {
			clear(a.last)
		}
		a.last[b.Client] = b.Last
	}
}
