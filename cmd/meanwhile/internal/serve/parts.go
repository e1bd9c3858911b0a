package serve

import (
	"encoding/json"
	"net/http"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// parts returns what is served, and the worker, nil for none.
func (p *plan) parts(store job.Store, finder logs.Finder) (http.Handler, *job.Worker) {
	m := metrics.New(metrics.Config{Store: store})
	var worker *job.Worker
	if p.Concurrency > 0 {
		worker = p.Worker(store, job.Config{Logger: p.logger, Observe: m.Observe})
		m.Watch(worker)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", m.Handler())
	mux.HandleFunc("/healthz", m.Healthz)
	mux.HandleFunc("/readyz", m.Readyz)
	mux.Handle(api.Prefix+"/", api.New(api.Config{
		Store: store, ReadOnly: access.ReadOnly, Mask: p.Mask, Logger: p.logger,
		New: func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
			return jobs.NewJob(kind, args, opts...)
		},
	}))
	d := dash.Config{Store: store, ReadOnly: access.ReadOnly, Mask: p.Mask, Logs: finder}
	if p.users > 0 {
		d.SignOut = access.SignOutPath
	}
	mux.Handle("/", dash.New(d))
	return mux, worker
}
