// Package api is an HTTP API over a store of jobs, for programs in any language: enqueue jobs, find, retry and cancel them, run them in workers,
// and follow changes. Its paths begin with [Prefix]; openapi.yaml, which it serves as well, describes them.
//
//	mux.Handle(api.Prefix+"/", api.New(api.Config{Store: store}))
//
// It has no authentication of its own: put that in front of it, as "meanwhile serve" does.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/internal/shutdown"
	"github.com/meanwhile-go/meanwhile/job"
)

// Prefix is the beginning of all paths.
const Prefix = "/api/v1"

// A Config configures the API: what it shows, and to whom. Only Store must be set.
type Config struct {
	Store job.Store
	// ReadOnly reports whether a request may only read: if it would write, it is refused with 403. Default: none is read-only.
	ReadOnly func(*http.Request) bool
	// New creates a job that is to be enqueued. A program that knows its kinds can check their args there, and set their defaults. Default job.New,
	// which accepts any kind.
	New func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error)
	// Mask names fields whose values are shown as •••, at any depth of args and results, and behind their name in errors and
	// records, regardless of case, "-" and "_". Jobs cannot be searched by them. Default: those of dash.DefaultMask, such as password,
	// token and api_key; an empty list that is not nil masks nothing.
	Mask []string
	// Actor returns who sent a request, for the audit log. By default, and if it returns "", it is the address that the request came from.
	Actor func(*http.Request) string
	// Observe is called with the events of the attempts of worker programs, as Observe of a [job.Claimer]; default none.
	Observe func(job.Event)
	Logger  *slog.Logger // for the audit log, and for errors of the store, which responses do not show; default slog.Default()
}

// An API is an http.Handler that serves the API.
type API struct {
	config   Config
	mask     *mask.Mask
	cross    http.CrossOriginProtection
	mux      *http.ServeMux
	snapshot storeSnapshot
	places   chan struct{} // one for each stream
	polls    chan struct{} // one for each claim that waits
	awaits   chan struct{} // one for each request that waits for a job to finish

	claimer  *job.Claimer
	servers  shutdown.Servers
	stopping context.Context
	stop     func()
}

// New returns a handler. It panics without a store.
func New(c Config) *API {
	if c.Store == nil {
		panic("api: New: give Config.Store, the jobs to show")
	}
	if c.ReadOnly == nil {
		c.ReadOnly = func(*http.Request) bool { return false }
	}
	if c.Actor == nil {
		c.Actor = func(*http.Request) string { return "" }
	}
	if c.New == nil {
		c.New = job.New
	}
	if c.Mask == nil {
		c.Mask = mask.Default
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	a := &API{config: c, mask: mask.New(c.Mask), mux: http.NewServeMux(), places: make(chan struct{}, mostStreams), polls: make(chan struct{}, mostPolls), awaits: make(chan struct{}, mostAwaits)}
	a.snapshot.store = c.Store
	a.claimer = job.NewClaimer(c.Store)
	a.claimer.Observe = c.Observe
	a.stopping, a.stop = context.WithCancel(context.Background())
	for _, r := range a.routes() {
		a.mux.HandleFunc(r.method+" "+Prefix+r.path, func(w http.ResponseWriter, req *http.Request) {
			ctx, cancel := context.WithTimeout(req.Context(), r.within)
			defer cancel()
			control := http.NewResponseController(w) // its errors mean that w has no deadlines
			_ = control.SetReadDeadline(time.Now().Add(r.within))
			_ = control.SetWriteDeadline(time.Now().Add(r.within + writeTime))
			if err := r.do(w, req.WithContext(ctx)); err != nil {
				a.fail(w, req, err)
			}
		})
	}
	return a
}

// How long a request may take.
const (
	shortTime  = 30 * time.Second
	longTime   = 10 * time.Minute // for requests about many jobs
	writeTime  = 10 * time.Second // for writing the answer afterwards
	readOnTime = 5 * time.Second  // for the rest of the body of a refused request
)

// A route is the handler of a method and a path.
type route struct {
	method, path string
	within       time.Duration
	do           func(http.ResponseWriter, *http.Request) error
}

func (a *API) routes() []route {
	return []route{
		{"POST", "/jobs", shortTime, withoutQuery(a.enqueue)},
		{"POST", "/jobs/bulk", longTime, a.enqueueAll},
		{"GET", "/jobs", shortTime, a.list},
		{"GET", "/jobs/{id}", pollTime, a.show},
		{"GET", "/jobs/{id}/tree", shortTime, withoutQuery(a.tree)},
		{"DELETE", "/jobs/{id}", shortTime, withoutQuery(a.delete)},
		{"POST", "/jobs/{id}/{action}", shortTime, withoutQuery(a.jobAction)},
		{"POST", "/actions", longTime, withoutQuery(a.bulkAction)},
		{"GET", "/queues", shortTime, withoutQuery(a.queues)},
		{"POST", "/queues/{name}/{action}", shortTime, withoutQuery(a.queueAction)},
		{"GET", "/queues/{name}/limits", shortTime, a.limits},
		{"PUT", "/queues/{name}/limits", shortTime, withoutQuery(a.setLimits)},
		{"GET", "/queues/{name}/key-limits", shortTime, a.overrides},
		{"PUT", "/queues/{name}/key-limits", shortTime, a.setKeyLimits},
		{"GET", "/counts", shortTime, withoutQuery(a.counts)},
		{"GET", "/stats", shortTime, a.stats},
		{"GET", "/workers", shortTime, withoutQuery(a.workers)},
		{"POST", "/workers/{name}/{action}", shortTime, withoutQuery(a.workerAction)},
		{"GET", "/crons", shortTime, withoutQuery(a.crons)},
		{"POST", "/crons/{name}/{action}", shortTime, withoutQuery(a.cronAction)},
		{"GET", "/audit", shortTime, a.audit},
		{"GET", "/events", longestStream, a.events},
		{"POST", "/worker/claim", pollTime, withoutQuery(a.claim)},
		{"POST", "/worker/extend", shortTime, withoutQuery(a.extend)},
		{"POST", "/worker/finish", shortTime, withoutQuery(a.finish)},
		{"POST", "/worker/leave", shortTime, withoutQuery(a.leave)},
		{"GET", "/openapi.yaml", shortTime, withoutQuery(a.describe)},
	}
}

// Stop makes event streams, and requests that wait for jobs or for one to finish, return immediately, now and from now on, so that a server can
// shut down. When an http.Server shuts down, they return without it.
func (a *API) Stop() { a.stop() }

// waiting returns the ctx of a request that waits: it is canceled when its server shuts down, and by Stop, too.
func (a *API) waiting(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := a.servers.Context(r)
	stop := context.AfterFunc(a.stopping, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// ForWorkers reports whether a request is one that programs which run jobs need: to enqueue jobs, to see one by its ID, and everything
// below /worker. It is for tokens that may do no more than that.
func ForWorkers(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, Prefix+"/")
	switch first, rest, _ := strings.Cut(path, "/"); {
	case !ok:
		return false
	case first == "worker":
		return true
	case path == "jobs" || path == "jobs/bulk":
		return r.Method == http.MethodPost
	case first == "jobs":
		return isSafe(r.Method) && rest != "" && !strings.Contains(rest, "/")
	}
	return false
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	handler, pattern := a.mux.Handler(r)
	switch {
	case pattern == "":
		a.fail(w, r, notRouted(handler, r))
	case len(r.URL.RawQuery) > mostQuery:
		a.fail(w, r, refuse(http.StatusRequestURITooLong, "the query has more than %d bytes", mostQuery))
	case !isSafe(r.Method) && a.cross.Check(r) != nil:
		a.fail(w, r, refuse(http.StatusForbidden, "a page of another origin sent this request, and it would change something"))
	case !isSafe(r.Method) && a.config.ReadOnly(r):
		a.fail(w, r, refuse(http.StatusForbidden, "you may look, and change nothing"))
	default:
		a.mux.ServeHTTP(w, r)
	}
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error concerns the client alone
	return nil
}
