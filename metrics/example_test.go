package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	store := memory.New()
	defer store.Close()
	mail := job.Define[note]("mail")
	if _, err := mail.Enqueue(ctx, store, note{"hello"}); err != nil {
		fmt.Println(err)
	}

	m := metrics.New(metrics.Config{Store: store})
	worker := job.NewWorker(store, job.Config{Observe: m.Observe}, mail.Handle(func(context.Context, note) error {
		stop() // one is enough for an example
		return nil
	}))
	m.Watch(worker)
	mux := http.NewServeMux()
	mux.Handle("/metrics", m.Handler())
	mux.HandleFunc("/healthz", m.Healthz)
	mux.HandleFunc("/readyz", m.Readyz)

	if err := worker.Run(ctx); err != nil {
		fmt.Println(err)
	}
	show(mux, "/metrics", "meanwhile_jobs{", `outcome="completed"`, "meanwhile_store_up ")
	show(mux, "/healthz", "")
	show(mux, "/readyz", "")
	// Output:
	// meanwhile_attempts_total{kind="mail",outcome="completed",queue="default"} 1
	// meanwhile_jobs{kind="mail",queue="default",state="completed"} 1
	// meanwhile_store_up 1
	// {"status":"ok"}
	// {"status":"failed","reasons":["worker 1: it does not run"]}
}

// show prints the lines of a page that contain one of the parts.
func show(h http.Handler, path string, parts ...string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(string(text)) {
		for _, part := range parts {
			if strings.Contains(line, part) && !strings.HasPrefix(line, "#") {
				fmt.Print(line)
			}
		}
	}
}

// A program with its own registry registers the collector there, with more labels if needed.
func ExampleNew() {
	r := prometheus.NewRegistry()
	m := metrics.New(metrics.Config{})
	if err := prometheus.WrapRegistererWith(prometheus.Labels{"team": "search"}, r).Register(m); err != nil {
		fmt.Println(err)
	}
	families, err := r.Gather()
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range families {
		fmt.Println(f.GetName(), f.GetMetric()[0].GetLabel()[1].GetValue())
	}
	// Output:
	// meanwhile_store_errors_total search
}

func ExampleCollector_Observe() {
	m := metrics.New(metrics.Config{})
	config := job.Config{Observe: func(e job.Event) {
		m.Observe(e)
		if e.Kind == job.JobDiscarded {
			fmt.Println("somebody has to look at a job of kind", e.Job.Kind)
		}
	}}
	config.Observe(job.Event{Kind: job.JobDiscarded, Job: &job.Job{Queue: "default", Kind: "mail"}})
	show(m.Handler(), "/metrics", `outcome="discarded"`)
	// Output:
	// somebody has to look at a job of kind mail
	// meanwhile_attempts_total{kind="mail",outcome="discarded",queue="default"} 1
}
