package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/clockcheck"
	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Config configures a [Server]. The zero value of each field but Listeners is its default.
type Config struct {
	Store     storage.Store // nil: none. The server does not close it
	Routes    []Route       // where records go; default: all to the store
	Limits    []Limit       // of services; default: none
	Redact    []Redaction   // what is replaced in records before they go anywhere; default: nothing
	Alerts    []Alert       // at most 100; default: none
	Listeners []Listener    //

	Sync      linefile.Sync // of line files; default SyncAlways. The store has its own
	Interval  time.Duration // in which repeats are counted, and between reports of the records that limits have dropped; default 1 s
	SyncEvery time.Duration // between syncs of line files; default: Interval
	MaxRecord int           // bytes of a message with its attributes, task and job, above which the message is cut; default 256 KiB
	MaxFrame  int           // bytes of a frame, above which the connection is closed; default [logs.MaxRecord]
	FrameTime time.Duration // for the rest of a frame to come, after which the connection is closed; default 30 s
	IdleTime  time.Duration // without a byte, after which a connection is closed; default: never
	MaxConns  int           // connections at once, of all listeners; default 20,000. More wait to be accepted
	Grace     time.Duration // to end, when ctx is canceled; default 5 s

	// Journal is a folder for a journal that shows, after a kill, which records of the own protocol are in line files already; it is
	// created with the first of them. Without it, line files may have such records twice after a kill.
	Journal string

	Logger *slog.Logger // for what happens to the server itself; default slog.Default()

	// Listen and ListenPacket open the address of a listener; the defaults are those of package net. They may return what another process
	// has opened.
	Listen       func(l *Listener) (net.Listener, error)
	ListenPacket func(l *Listener) (net.PacketConn, error)

	// Ready is called when all addresses are open. An error ends the server.
	Ready func() error

	// Stopping is called when ctx is canceled, before anything is stopped.
	Stopping func()

	// Resume are connections that another server has handed over, see [Server.HandOver].
	Resume []HandoverConn
}

// A Server receives records and sends them where its routes say.
type Server struct {
	config    Config
	logger    *slog.Logger
	sync      linefile.Sync
	maxRecord int
	began     time.Time
	trusted   func() bool // reports whether the clock can be trusted; asked before files are deleted for their age
	routing   atomic.Pointer[routing]
	outputs   outputs
	journal   *linefile.Journal // of line files; nil for none
	slots     *meanwhile.Semaphore

	mu        sync.Mutex
	inputs    map[string]*inputCounts
	services  map[string]*serviceCounts
	redacted  map[string]*atomic.Int64 // values that redactions have replaced, by their names
	crowded   bool                     // whether there were records of services beyond the maximum
	scanned   time.Time                // when it last checked for services to forget
	conns     map[*connection]struct{}
	addresses map[string]net.Addr
	logLimit  logLimit

	stopped     context.Context // done when it ends or hands over
	end         context.CancelFunc
	handingOver atomic.Bool
	handovers   []HandoverConn
	running     atomic.Bool
}

// New returns a server that [Server.Run] runs. It returns an error for an invalid configuration.
func New(c Config) (*Server, error) {
	c.Sync = cmp.Or(c.Sync, linefile.SyncAlways)
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.SyncEvery = cmp.Or(c.SyncEvery, c.Interval)
	c.MaxRecord = cmp.Or(c.MaxRecord, 256<<10)
	c.MaxFrame = cmp.Or(c.MaxFrame, logs.MaxRecord)
	c.FrameTime = cmp.Or(c.FrameTime, 30*time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 20_000)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Listen == nil {
		c.Listen = func(l *Listener) (net.Listener, error) { return net.Listen(l.network(), l.Address) }
	}
	if c.ListenPacket == nil {
		c.ListenPacket = func(l *Listener) (net.PacketConn, error) { return net.ListenPacket(l.network(), l.Address) }
	}
	if c.MaxRecord < 64 || c.MaxRecord > logs.MaxRecord-2*mostAdded {
		return nil, fmt.Errorf("a record of at most %d bytes: give 64 to %d", c.MaxRecord, logs.MaxRecord-2*mostAdded)
	}
	switch c.Sync {
	case linefile.SyncAlways, linefile.SyncInterval, linefile.SyncOS:
	default:
		return nil, fmt.Errorf("sync %q: give always, interval or os", c.Sync)
	}
	s := &Server{
		config: c, logger: c.Logger, sync: c.Sync, maxRecord: c.MaxRecord, began: time.Now(), trusted: clockcheck.New().Trusted, slots: meanwhile.NewSemaphore(c.MaxConns),
		inputs: map[string]*inputCounts{}, services: map[string]*serviceCounts{OtherServices: {}}, redacted: map[string]*atomic.Int64{}, conns: map[*connection]struct{}{}, addresses: map[string]net.Addr{},
	}
	s.stopped, s.end = context.WithCancel(context.Background())
	s.outputs.lines, s.outputs.keys = map[any]*lineOutput{}, map[bufferKey]*bufferKey{}
	if c.Journal != "" {
		s.journal = linefile.NewJournal(c.Journal, c.Sync, s.trusted, c.Logger)
	}
	if c.Store != nil {
		s.outputs.store = newStoreOutput(c.Store, c.Logger)
	}
	return s, s.SetRoutes(c.Routes, c.Limits, c.Redact, c.Alerts)
}

// SetRoutes replaces the routes, limits, redactions and alerts for records that arrive from now on. After an error the previous ones
// stay. An alert whose name, filter, count and window are as before continues; any other counts from zero.
func (s *Server) SetRoutes(routes []Route, limits []Limit, redact []Redaction, alerts []Alert) error {
	if len(routes) == 0 {
		routes = []Route{{To: []Destination{{Store: true}}}}
	}
	for i := range routes {
		if err := routes[i].check(); err != nil {
			return err
		}
		for _, to := range routes[i].To {
			if to.Store && s.config.Store == nil {
				return errors.New("a route leads to the store, and there is none")
			}
		}
	}
	for _, l := range limits {
		if l.Rate <= 0 || l.Burst < 0 {
			return errors.New("a limit of no records a second")
		}
		if err := checkServices(l.Services); err != nil {
			return err
		}
	}
	if err := checkAlerts(alerts); err != nil {
		return err
	}
	redactor, err := s.newRedactor(redact)
	if err != nil {
		return err
	}
	r := &routing{s: s, routes: routes, limits: limits, redactor: redactor, alerts: s.newAlerts(alerts), services: map[string]*serviceRoute{}}
	r.before.Store(s.routing.Load())
	s.routing.Store(r)
	return nil
}

// Batcher returns a batcher for an input without a listener of its own, such as a handler of HTTP requests. The name is that of
// its counters.
func (s *Server) Batcher(way string) input.Batcher { return &batcher{s: s, counts: s.inputCounts(way)} }

// mostAdded is more than the bytes that are added to a record that is truncated, or stored under another service.
const mostAdded = 512

// Run serves until ctx is canceled, or [Server.HandOver] has been called. It then reads what its connections still hold, writes it,
// syncs, and returns; the grace of its configuration bounds the time for that. Run may be called only once.
func (s *Server) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		panic("logs: Run of a server that was run: make a new one")
	}
	defer s.closeJournal()
	return meanwhile.Shield(ctx, s.config.Grace, func(inner context.Context) error {
		return s.run(ctx, inner)
	}, meanwhile.Name("logs"))
}

// closeJournal is called when no task writes any more. What it cannot do is left to the next process, as after a kill.
func (s *Server) closeJournal() {
	if s.journal == nil {
		return
	}
	if err := s.journal.Close(); err != nil {
		s.logger.Error("logs: the journal of line files is not closed in order; the next process looks at these files", "error", err)
	}
}

// run has two contexts: outer, which is canceled to end the server, and ctx, that of its tasks, which continue until they have ended in
// order.
func (s *Server) run(outer, ctx context.Context) (err error) {
	if s.journal != nil {
		if err := s.journal.Open(); errors.Is(err, datafolder.ErrLocked) {
			return err
		} else if err != nil {
			s.logger.Error("logs: the journal of line files is not read; their records wait", "error", err)
		}
	}
	opened, err := s.open()
	if err != nil {
		return err
	}
	s.loadStored(ctx)
	s.outputs.start(ctx)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		select {
		case <-outer.Done():
			if s.config.Stopping != nil {
				s.config.Stopping()
			}
		case <-s.stopped.Done():
		case <-ctx.Done():
		}
		s.endAll(opened)
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("end"))
	meanwhile.Every(ctx, s.config.Interval, s.interval, meanwhile.Name("interval"))
	meanwhile.Every(ctx, alertEvery, s.reportAlerts, meanwhile.Name("alerts"))
	if s.sync != linefile.SyncOS {
		meanwhile.Every(ctx, s.config.SyncEvery, s.syncAll, meanwhile.Name("sync"))
	}
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		defer s.endAll(opened) // also when what follows fails, or a listener: nothing else ends a wait for connections
		for _, l := range opened {
			meanwhile.Go(ctx, func(ctx context.Context) error { return s.listen(ctx, l) }, meanwhile.Name(l.Name))
		}
		if s.config.Ready != nil {
			if err := s.config.Ready(); err != nil {
				return err
			}
		}
		if err := s.resume(ctx); err != nil {
			return err
		}
		select {
		case <-s.stopped.Done():
		case <-ctx.Done():
		}
		return nil
	}, meanwhile.Name("in"))
	s.end()
	if failed := s.interval(ctx); err == nil {
		err = failed
	}
	s.outputs.close(ctx)
	return err
}

// interval does what is due each interval.
func (s *Server) interval(ctx context.Context) error {
	s.reportLimited(ctx)
	s.forgetServices(ctx)
	s.outputs.endInterval(time.Now())
	return nil
}

func (s *Server) syncAll(context.Context) error {
	for _, o := range s.outputs.all() {
		o.AskSync()
	}
	return nil
}

// reportLimited reports in the stream of a service how many of its records a limit has dropped.
func (s *Server) reportLimited(ctx context.Context) {
	var reports []logs.View
	for r := s.routing.Load(); r != nil; r = r.before.Swap(nil) {
		reports = r.appendLimited(reports)
	}
	f := &batcher{s: s, counts: s.inputCounts("server"), internal: true}
	for i := range reports {
		f.Add(&reports[i])
	}
	_ = f.Flush(ctx) // it fails when ctx ends, and what it reports is in the counts
}

// appendLimited appends the reports that are due.
func (r *routing) appendLimited(reports []logs.View) []logs.View {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, p := range r.services {
		if p.rate == nil {
			continue
		}
		if n := p.rate.over.Swap(0); n > 0 {
			v := logs.View{Level: slog.LevelWarn, Service: []byte(p.name), Message: fmt.Appendf(nil, "%d records left out: more than %g a second came", n, p.rate.limit)}
			v.AddAttr(slog.Int64("left_out", n))
			reports = append(reports, v)
		}
	}
	return reports
}

// Reopen syncs the files of the routes and opens them again by their names, which may refer to other files by now.
func (s *Server) Reopen() {
	for _, o := range s.outputs.all() {
		o.AskReopen()
	}
}

func (o *outputs) start(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx = ctx
	for _, l := range o.lines {
		l.Start(ctx)
	}
	if o.store != nil {
		o.store.start(ctx)
	}
}

// close writes what is left, and closes all.
func (o *outputs) close(ctx context.Context) {
	if o.store != nil {
		o.store.close(ctx)
	}
	for _, l := range o.all() {
		l.Close(ctx)
	}
}
