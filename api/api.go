// Package api is an HTTP API over a store of jobs, for programs in any language: enqueue, look, act, and follow what
// happens. Its paths begin with [Prefix]; openapi.yaml, which it serves itself, describes them.
//
//	mux.Handle(api.Prefix+"/", api.New(api.Config{Store: store}))
//
// It asks nobody who they are: put that before it, as "meanwhile serve" does.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
)

// Prefix is what all paths begin with.
const Prefix = "/api/v1"

// A Config says what the API shows, and to whom. Only Store has to be set.
type Config struct {
	Store job.Store
	// ReadOnly reports whether a request may only look: others are then refused with 403. Default none is.
	ReadOnly func(*http.Request) bool
	// New makes a job that is to be enqueued. A program that knows its kinds checks their args there, and gives them their
	// defaults. Default job.New, which takes any kind.
	New func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error)
	// Mask names fields whose values are shown as •••, at any depth of args and results, and behind their name in errors and
	// records, regardless of case, "-" and "_". Jobs cannot be found by them. Default mask.Default, such as password, token
	// and api_key; an empty list that is not nil masks nothing.
	Mask   []string
	Logger *slog.Logger // for trouble with the store, which answers do not tell; default slog.Default()
}

// An API is the handler.
type API struct {
	config Config
	mask   *mask.Mask
	cross  http.CrossOriginProtection
	mux    *http.ServeMux
	look   look
	places chan struct{} // one for each stream
}

// New makes a handler. It panics without a store.
func New(c Config) *API {
	if c.Store == nil {
		panic("api: New: give Config.Store, the jobs to show")
	}
	if c.ReadOnly == nil {
		c.ReadOnly = func(*http.Request) bool { return false }
	}
	if c.New == nil {
		c.New = job.New
	}
	if c.Mask == nil {
		c.Mask = mask.Default
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	a := &API{config: c, mask: mask.New(c.Mask), mux: http.NewServeMux(), places: make(chan struct{}, mostStreams)}
	a.look.store = c.Store
	for _, r := range a.routes() {
		a.mux.HandleFunc(r.method+" "+Prefix+r.path, func(w http.ResponseWriter, req *http.Request) {
			ctx, cancel := context.WithTimeout(req.Context(), r.within)
			defer cancel()
			control := http.NewResponseController(w) // whose errors say that w has no deadlines
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
	shortTime = 30 * time.Second
	longTime  = 10 * time.Minute // what may be about many jobs
	writeTime = 10 * time.Second // for what is written afterwards
)

// A route is what is done at a method and a path.
type route struct {
	method, path string
	within       time.Duration
	do           func(http.ResponseWriter, *http.Request) error
}

func (a *API) routes() []route {
	return []route{
		{"POST", "/jobs", shortTime, a.enqueue},
		{"POST", "/jobs/bulk", longTime, a.enqueueAll},
		{"GET", "/jobs", shortTime, a.list},
		{"GET", "/jobs/{id}", shortTime, a.show},
		{"DELETE", "/jobs/{id}", shortTime, a.delete},
		{"POST", "/jobs/{id}/{act}", shortTime, a.actOnOne},
		{"POST", "/acts", longTime, a.actOnAll},
		{"GET", "/queues", shortTime, a.queues},
		{"POST", "/queues/{name}/{act}", shortTime, a.actOnQueue},
		{"GET", "/counts", shortTime, a.counts},
		{"GET", "/workers", shortTime, a.workers},
		{"GET", "/crons", shortTime, a.crons},
		{"POST", "/crons/{name}/{act}", shortTime, a.actOnCron},
		{"GET", "/events", longestStream, a.events},
		{"GET", "/openapi.yaml", shortTime, a.describe},
	}
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
	_, _ = w.Write(append(text, '\n')) // an error is the client's
	return nil
}
