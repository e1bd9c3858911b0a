package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
)

// A routing is the routes of a server, worked out for each service when its first record comes. Another one takes its place
// when the settings are read again; the outputs stay.
type routing struct {
	s        *Server
	routes   []Route
	limits   []Limit
	redactor redactor // nil: nothing is redacted
	alerts   []*alertCounter
	before   atomic.Pointer[routing] // whose limits are still to be reported; nil for none

	mu       sync.RWMutex
	services map[string]*serviceRoute
}

// A serviceRoute is where the records of one service go.
type serviceRoute struct {
	name    string
	head    []byte // as lines have it, with a | behind
	raw     []byte // as raw lines have it
	outputs []routedOutput
	rate    *rate           // nil for no limit
	alerts  []*alertCounter // that count its records
	counts  *serviceCounts
}

type routedOutput struct {
	*bufferKey
	levels *levelFilter
}

// A bufferKey is what a batcher gathers on its own: lines for one output, or the records of one service for the store.
type bufferKey struct {
	lines    *lineOutput  // or
	store    *storeOutput //
	service  string       // of store
	dedupe   bool
	raw      bool // lines as Analogger writes them
	fraction int  // digits in the times of lines
}

// route returns the route of a service. That of a service whose name is repaired, for the reason, or that is not kept apart, has
// another name.
func (r *routing) route(name []byte) (p *serviceRoute, reason string) {
	if p = r.known(name); p != nil {
		return p, ""
	}
	service, reason := logs.RepairService(string(name))
	if service != string(name) {
		if p = r.known([]byte(service)); p != nil {
			return p, reason
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	service, counts := r.s.countsOf(service)
	if p = r.services[service]; p != nil {
		return p, reason
	}
	p = &serviceRoute{name: service, head: linefile.Head(service), raw: linefile.RawHead(service), counts: counts, alerts: r.alertsOf(service)}
	if l := limitOf(r.limits, p.name); l != nil {
		p.rate = newRate(l)
	}
	for _, route := range routesOf(r.routes, p.name) {
		for _, to := range route.To {
			p.add(r.s.keyOf(to, p.name, route), newLevelFilter(route))
		}
	}
	r.services[p.name] = p
	return p, reason
}

func (r *routing) known(name []byte) *serviceRoute {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.services[string(name)]
}

// add adds an output. One that two routes lead to gets what either of them lets through, once, and is freed of repeats only where both say so.
func (p *serviceRoute) add(key *bufferKey, levels *levelFilter) {
	if key == nil {
		return
	}
	for i := range p.outputs {
		if o := &p.outputs[i]; o.lines == key.lines && o.store == key.store {
			if o.levels = o.levels.or(levels); !key.dedupe {
				o.bufferKey = key
			}
			return
		}
	}
	p.outputs = append(p.outputs, routedOutput{key, levels})
}

// A lineOutput is an output for lines.
type lineOutput struct {
	*linefile.Output
	file  *linefile.File // what it writes to; nil for anything but a file
	keys  atomic.Int32   // how many buffer keys there are of it
	mixed atomic.Bool    // more than one: some of its lines are freed of repeats or raw, others are not
}

// outputs are those of a server, by what they write to.
type outputs struct {
	mu    sync.Mutex
	ctx   context.Context // in which their tasks run; nil before the server runs
	lines map[any]*lineOutput
	bytes atomic.Int64 // that wait in them
	keys  map[bufferKey]*bufferKey
	store *storeOutput
}

// keyOf returns what stands for a destination. The output is begun when it is first asked for.
func (s *Server) keyOf(to Destination, service string, route *Route) *bufferKey {
	key := bufferKey{dedupe: route.Dedupe, raw: route.Raw && !to.Store}
	o := &s.outputs
	o.mu.Lock()
	defer o.mu.Unlock()
	if !to.Store {
		key.fraction = route.Fraction
	}
	switch {
	case to.Store:
		if o.store == nil {
			return nil
		}
		key.store, key.service = o.store, service
	case to.File != nil:
		path, place := to.File.PathOf(service)
		if o.lines[filePlace(place)] == nil && len(o.lines) >= mostFiles {
			path, place = to.File.PathOf(OtherServices)
		}
		key.lines = o.line(filePlace(place), path, func() linefile.Target { return linefile.NewFile(path, place, s.sync, s.journal, s.trusted, s.logger) }, s.logger)
		key.lines.file.Configure(to.File)
	case to.Writer != nil:
		key.lines = o.line(to.Writer, writerName(to.Writer), func() linefile.Target { return linefile.NewWriter(to.Writer) }, s.logger)
	default:
		key.lines = o.line(socketAddress(to.Socket), to.Socket, func() linefile.Target { return linefile.NewSocket(to.Socket) }, s.logger)
	}
	if o.keys[key] == nil {
		o.keys[key] = &key
		if key.lines != nil {
			key.lines.mixed.Store(key.lines.keys.Add(1) > 1)
		}
	}
	return o.keys[key]
}

type (
	filePlace     string // the same path of a file, however it is written in a route
	socketAddress string
)

// writerName names a writer: standard output by its path.
func writerName(w io.Writer) string {
	if named, ok := w.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fmt.Sprintf("%T", w)
}

// line returns the output for a place, and begins it. The lock is held.
func (o *outputs) line(place any, name string, target func() linefile.Target, logger *slog.Logger) *lineOutput {
	l := o.lines[place]
	if l == nil {
		to := target()
		l = &lineOutput{Output: linefile.NewOutput(name, to, &o.bytes, logger)}
		l.file, _ = to.(*linefile.File)
		o.lines[place] = l
		if o.ctx != nil {
			l.Start(o.ctx)
		}
	}
	return l
}

// all returns the line outputs, by name.
func (o *outputs) all() []*lineOutput {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []*lineOutput
	for _, l := range o.lines {
		all = append(all, l)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	return all
}

// endInterval ends the intervals in which repeats are looked for.
func (o *outputs) endInterval(now time.Time) {
	for _, l := range o.all() {
		l.EndInterval(now)
	}
	if o.store != nil {
		o.store.endInterval(now)
	}
}
