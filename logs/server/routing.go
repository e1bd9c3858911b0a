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

// A routing has the routes of a server, resolved for each service when its first record arrives. It is replaced when the settings are
// reloaded; the outputs stay.
type routing struct {
	s        *Server
	routes   []Route
	limits   []Limit
	redactor redactor // nil: nothing is redacted
	alerts   []*alertCounter
	before   atomic.Pointer[routing] // the previous one, whose dropped records are still to be reported; nil for none

	mu       sync.RWMutex
	services map[string]*serviceRoute
}

// A serviceRoute has the outputs, the limit and the alerts of one service.
type serviceRoute struct {
	name    string
	head    []byte // the service as lines have it, and a |
	raw     []byte // the service as raw lines have it
	outputs []routedOutput
	rate    *rate           // nil for no limit
	alerts  []*alertCounter // the alerts that count its records
	counts  *serviceCounts
}

type routedOutput struct {
	*bufferKey
	levels *levelFilter
}

// A bufferKey identifies a buffer of a batcher: one has lines for one output, or records of one service for the store.
type bufferKey struct {
	lines    *lineOutput  // either this
	store    *storeOutput // or this
	service  string       // only with store
	dedupe   bool
	raw      bool // lines as Analogger writes them
	fraction int  // digits in the times of lines
}

// route returns the route of a service. Its name is another one if the service's name is invalid and repaired, for the reason returned, or
// if there are too many services.
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

// add adds an output. If two routes lead to an output, it gets once what either of them passes, deduplicated only if both say so.
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
	file  *linefile.File // the file it writes to; nil for other destinations
	keys  atomic.Int32   // the number of its buffer keys
	mixed atomic.Bool    // whether there are several: some of its lines are deduplicated or raw, others are not
}

// outputs has the outputs of a server, by their destinations.
type outputs struct {
	mu    sync.Mutex
	ctx   context.Context // the scope of their tasks; nil before the server runs
	lines map[any]*lineOutput
	keys  map[bufferKey]*bufferKey
	store *storeOutput

	memory linefile.Memory // of all of them
}

// keyOf returns the buffer key of a destination, and starts its output if it has none yet.
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
	filePlace     string // the absolute path of a file, so that different spellings are one output
	socketAddress string
)

// writerName returns the name of a writer, such as /dev/stdout.
func writerName(w io.Writer) string {
	if named, ok := w.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fmt.Sprintf("%T", w)
}

// line returns the output for a destination, and starts it if it is new. The lock is held.
func (o *outputs) line(place any, name string, target func() linefile.Target, logger *slog.Logger) *lineOutput {
	l := o.lines[place]
	if l == nil {
		to := target()
		l = &lineOutput{Output: linefile.NewOutput(name, to, &o.memory, logger)}
		l.file, _ = to.(*linefile.File)
		o.lines[place] = l
		if o.ctx != nil {
			l.Start(o.ctx)
		}
	}
	return l
}

// all returns the line outputs, sorted by name.
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

// endInterval reports the repeats of the interval of deduplication that has ended.
func (o *outputs) endInterval(now time.Time) {
	for _, l := range o.all() {
		l.EndInterval(now)
	}
	if o.store != nil {
		o.store.endInterval(now)
	}
}
