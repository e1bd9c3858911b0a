package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// parts returns the HTTP handler, the worker or nil, and a function that ends waiting requests. m is what the handler answers with for /metrics.
func (p *plan) parts(store job.Store, finder storage.Finder, m *metrics.Collector) (handler http.Handler, worker *job.Worker, stop func()) {
	if p.Concurrency > 0 {
		worker = p.Worker(store, job.Config{Logger: p.logger, Observe: m.Observe})
		m.Watch(worker)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", m.Handler(p.requests))
	mux.HandleFunc("/healthz", m.Healthz)
	mux.HandleFunc("/readyz", m.Readyz)
	newJob := func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
		return jobs.NewJob(kind, args, opts...)
	}
	requests := api.New(api.Config{
		Store: store, ReadOnly: access.ReadOnly, Mask: p.Mask, Actor: access.Name, Observe: m.Observe, Logger: p.logger, New: newJob,
	})
	mux.Handle(api.Prefix+"/", requests)
	d := dash.Config{Store: store, ReadOnly: access.ReadOnly, Mask: p.Mask, Logs: finder, Actor: access.Name, Logger: p.logger, New: newJob}
	if p.users > 0 {
		d.SignOut = access.SignOutPath
	}
	mux.Handle("/", dash.New(d))
	return mux, worker, requests.Stop
}

// partOf returns the part of the server that handles a request, as a label of metrics. Event streams and workers that wait for jobs have their own,
// since they take long on purpose.
func partOf(r *http.Request) string {
	path := r.URL.Path
	switch {
	case r.Header.Get("Accept") == "text/event-stream" || path == api.Prefix+"/events":
		return "events"
	case strings.HasPrefix(path, api.Prefix+"/worker/"):
		return "worker"
	case strings.HasPrefix(path, api.Prefix+"/"):
		return "api"
	case path == "/metrics" || slices.Contains(healthPaths, path):
		return "metrics"
	case path == access.SignInPath || path == access.SignOutPath:
		return "sign-in"
	}
	return "dashboard"
}
