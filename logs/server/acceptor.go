package server

import (
	"context"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
)

// An acceptor routes the batches of clients of the own protocol. Each output leaves out resent records on its own, since one may have a
// record that another does not have yet.
type acceptor struct {
	s     *Server
	input string // the input that counts the records

	mu   sync.Mutex
	last map[logs.Client]uint64 // the highest number that all outputs have, of clients of which the store has none
}

// mostRemembered bounds the number of clients that an acceptor remembers because the store has none of their records.
const mostRemembered = 100_000

// Acceptor returns the [Acceptor] to which [Sessions] append batches. The store keeps them with the numbers of their client, so that it
// leaves out resent records also after a kill; so do line files, with a [Config.Journal]. Sockets and writers may get records again that
// were not acknowledged before a kill.
//
// The records are counted as those of the listener that has a Serve, or of an input "meanwhile" if there is none.
func (s *Server) Acceptor() Acceptor {
	input := "meanwhile"
	if i := slices.IndexFunc(s.config.Listeners, func(l Listener) bool { return l.Serve != nil }); i >= 0 {
		input = s.config.Listeners[i].Name
	}
	return &acceptor{s: s, input: input, last: map[logs.Client]uint64{}}
}

func (a *acceptor) Last(ctx context.Context, client logs.Client) (last uint64, err error) {
	if store := a.s.config.Store; store != nil {
		if last, err = store.Last(ctx, client); err != nil {
			return 0, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(last, a.last[client]), nil
}

func (a *acceptor) Append(ctx context.Context, batches ...*logs.Batch) error {
	f := &batcher{s: a.s, counts: a.s.inputCounts(a.input)}
	stored := make([]*logs.Batch, 0, len(batches))
	var matched matches // added to the alerts only when all is accepted: otherwise the client sends it again
	for _, b := range batches {
		kept, err := a.route(ctx, f, b, &matched)
		if err != nil {
			return err
		}
		stored = append(stored, kept...)
	}
	// The store is the last: the other outputs have what it has, also after a kill, so Last can return its number.
	if err := f.Sync(ctx); err != nil {
		return err
	}
	if len(stored) > 0 {
		if err := a.s.config.Store.Append(ctx, stored...); err != nil {
			return err
		}
		a.s.outputs.store.appendedBeside(a.countNew(stored))
	}
	a.remember(batches)
	matched.accepted()
	return nil
}

// route adds the records of a batch to all outputs but the store, and returns the batches for the store.
func (a *acceptor) route(ctx context.Context, f *batcher, b *logs.Batch, matched *matches) (stored []*logs.Batch, err error) {
	f.prepare()
	route, reason := f.routing.route([]byte(b.Service))
	if reason != "" {
		f.counts.repair(reason, int64(b.Count))
	}
	f.counts.received(route.counts, f.now, int64(b.Count), int64(len(b.Data)))
	apart := route.name == b.Service
	if apart && len(route.outputs) == 1 && route.outputs[0].store != nil && route.outputs[0].levels == nil && route.rate == nil && f.routing.redactor == nil {
		if route.alerts != nil {
			for v, err := range b.Views {
				if err == nil {
					matched.add(route.alerts, v)
				}
			}
		}
		return []*logs.Batch{b}, nil
	}
	outputs, err := lacking(route.outputs, b)
	if err != nil {
		return nil, err
	}
	f.route, f.client = route, b.Client
	service := []byte(b.Service)
	kept := &logs.Batch{Service: route.name, Client: b.Client, First: b.First, Last: b.Last}
	for v, err := range b.Views {
		if err != nil {
			f.Refuse("damaged record")
			break
		}
		if route.rate != nil && !route.rate.allow(f.elapsed) {
			route.counts.limited.Add(1)
			continue
		}
		if f.routing.redactor != nil {
			before := len(v.Message) + len(v.Task) + len(v.EncodedAttrs())
			f.routing.redactor.redact(v)
			if size := len(v.Message) + len(v.Task) + len(v.EncodedAttrs()); size > before && size+len(v.Job) > f.s.maxRecord {
				f.cut(v)
			}
		}
		if !apart {
			v.Service = service
			rename(v, route.name)
		}
		matched.add(route.alerts, v)
		for i := range outputs {
			switch o := &outputs[i]; {
			case !o.levels.pass(v):
			case o.store == nil:
				to := f.buffer(o.bufferKey)
				f.put(to, v, v.Time)
				if b.Client != (logs.Client{}) {
					to.last = b.Last
				}
			default:
				if len(kept.Data) > logs.MaxBatch-logs.MaxRecord {
					next := &logs.Batch{Service: route.name, Client: b.Client, First: kept.First + uint64(kept.Count), Last: b.Last}
					kept.Last = next.First - 1
					stored, kept = append(stored, kept), next
				}
				kept.Add(v)
			}
		}
	}
	if kept.Count > 0 {
		stored = append(stored, kept)
	}
	if slices.ContainsFunc(outputs, func(o routedOutput) bool { return o.lines != nil && o.lines.mixed.Load() }) {
		// Lines to be deduplicated have a buffer of their own, and an output has to get all lines of a client in the order of their numbers.
		err = f.Flush(ctx)
	}
	return stored, err
}

// lacking returns the outputs that do not have a batch yet, and always the store, which checks that itself.
func lacking(outputs []routedOutput, b *logs.Batch) (some []routedOutput, err error) {
	if b.Client == (logs.Client{}) {
		return outputs, nil
	}
	for _, o := range outputs {
		last := uint64(0)
		if o.lines != nil {
			if last, err = o.lines.Last(b.Client); err != nil {
				return nil, err
			}
		}
		if b.Last > last {
			some = append(some, o)
		}
	}
	return some, nil
}

// countNew returns the number of records in batches that were not received before.
func (a *acceptor) countNew(batches []*logs.Batch) (records int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range batches {
		if b.Client == (logs.Client{}) || b.Last > a.last[b.Client] {
			records += b.Count
		}
	}
	return records
}

// remember notes the highest number of each client.
func (a *acceptor) remember(batches []*logs.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range batches {
		if b.Client == (logs.Client{}) || b.Last <= a.last[b.Client] {
			continue
		}
		if len(a.last) >= mostRemembered {
			clear(a.last)
		}
		a.last[b.Client] = b.Last
	}
}
