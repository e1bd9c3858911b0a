package dash

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Limits of a request.
const (
	mostPage = 5 * time.Second  // to load a page about jobs
	mostTime = 15 * time.Second // to find records, or to do a part of an action
	mostForm = 64 << 10         // bytes of a form: some hundred IDs
	mostURL  = 16 << 10         // bytes of a query
)

type handler struct {
	Config
	cache    *storeCache
	hub      *hub
	masker   *mask.Mask
	origin   http.CrossOriginProtection
	mux      *http.ServeMux
	searches backgroundSearches
	undos    recent[*undo]
	partial  recent[*continuation]

	histograms cached[storage.Histogram]
	services   cached[[]string]
	ofJobs     cached[jobLogFound]
	errors     cached[string] // the newest error of a kind
	failed     cached[*failures]
	pasts      cached[*past] // by the name of their reach and the URL of their subject
	waiting    cached[*waitingKeys]
	ticked     cached[[]row]          // jobs of crons
	limitUses  cached[job.LimitUse]   // of queues and their keys
	overrides  cached[[]job.Override] // the first of each queue
}

// New returns a handler that shows the dashboard, to be mounted at c.Prefix and all paths below it. It serves requests concurrently, and need not be
// closed.
func New(c Config) http.Handler {
	c.fill()
	h := &handler{Config: c, masker: mask.New(c.Mask), pasts: cached[*past]{least: pastFresh}}
	h.hub = newHub(h.fragments)
	h.mux = http.NewServeMux()
	h.page("/logs", "logs", h.logs)
	if c.Store != nil {
		h.cache = newStoreCache(c.Store)
		h.serveJobs()
	} else {
		h.mux.HandleFunc("GET /{$}", h.noJobs)
	}
	h.mux.HandleFunc("POST "+ThemePath, h.theme)
	h.mux.HandleFunc("GET /static/{name}", serveStatic)
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, refuse(http.StatusNotFound, "There is no such page."))
	})
	return h
}

// serveJobs serves the pages about jobs, and the actions on them.
func (h *handler) serveJobs() {
	h.page("/{$}", "overview", h.overview)
	h.page("/jobs", "jobs", h.jobs)
	h.page("/jobs/{id}", "job", h.job)
	h.page("/jobs/{id}/raw", "", h.raw)
	h.page("/jobs/{id}/task", "confirm", h.confirmTask)
	h.page("/jobs/{id}/clone", "clone", h.confirmClone)
	h.page("/jobs/action", "confirm", h.confirmJobs)
	h.page("/failures", "failures", h.failures)
	h.page("/queues", "queues", h.queues)
	h.page("/queue", "subject", h.queue)
	h.page("/kind", "subject", h.kind)
	h.page("/workers", "workers", h.workers)
	h.page("/workers/action", "confirm", h.confirmWorker)
	h.page("/crons", "crons", h.crons)
	h.page("/cron", "cron", h.cron)
	h.page("/palette", "", h.palette)
	h.page("/audit", "audit", h.audit)
	h.write("/jobs/action", h.jobsAction)
	h.write("/jobs/{id}/clone", h.clone)
	h.write("/undo", h.undo)
	h.write("/queues", h.queueAction)
	h.write("/jobs/{id}/task", h.cancelTask)
	h.write("/workers", h.workerAction)
	h.write("/crons", h.cronAction)
}

// A refusal is an error whose text is shown to the reader unchanged.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	rest, ok := strings.CutPrefix(r.URL.Path, h.Prefix)
	switch {
	case !ok || rest != "" && rest[0] != '/':
		http.Error(w, fmt.Sprintf("the dashboard is mounted below %q and was asked for %.100q: set Prefix in dash.Config to the path it is mounted at",
			h.Prefix, r.URL.Path), http.StatusNotFound)
	case rest == "":
		http.Redirect(w, r, h.Prefix+"/", http.StatusMovedPermanently)
	default:
		http.StripPrefix(h.Prefix, http.HandlerFunc(h.serve)).ServeHTTP(w, r)
	}
}

// serve answers a request whose path does not have the prefix any more.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case len(r.URL.RawQuery) > mostURL:
		h.fail(w, r, refuse(http.StatusRequestURITooLong, "The search is longer than %d bytes.", mostURL))
	case h.origin.Check(r) != nil:
		h.fail(w, r, refuse(http.StatusForbidden, "The request comes from a page of another site, which may change nothing here."))
	default:
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		h.mux.ServeHTTP(w, r)
	}
}

// write serves an action: it refuses read-only requests, writes done to the audit log, and redirects back to the page of the form.
func (h *handler) write(path string, do func(ctx context.Context, r *http.Request, done *job.AuditEntry) (back string, err error)) {
	h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		if h.ReadOnly(r) {
			h.fail(w, r, refuse(http.StatusForbidden, "You have read-only access."))
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(mostTime)) // if the server supports it
		if err := r.ParseForm(); err != nil {
			h.fail(w, r, formError(err))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), mostTime)
		defer cancel()
		var done job.AuditEntry
		back, err := do(ctx, r, &done)
		h.cache.forget()
		h.record(r, done, err)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		http.Redirect(w, r, h.Prefix+back, http.StatusSeeOther)
	})
}

func formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "The form is longer than %d bytes.", mostForm)
	}
	return refuse(http.StatusBadRequest, "The form cannot be read.")
}
