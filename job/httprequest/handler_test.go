package httprequest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// work runs a worker until an attempt of a job has ended, and returns the job.
func work(t *testing.T, s job.Store, c httprequest.Config, args httprequest.Args) *job.Job {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done, err := httprequest.Kind.Enqueue(ctx, s, args)
	if err != nil {
		t.Fatal(err)
	}
	err = job.NewWorker(s, job.Config{Observe: func(e job.Event) {
		if e.Kind == job.JobCompleted || e.Kind == job.JobDiscarded || e.Kind == job.JobRetried {
			stop()
		}
	}}, httprequest.Handler(c)).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Find(t.Context(), s, done.ID)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestHandler(t *testing.T) {
	var key atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key.Store(r.Header.Get("Idempotency-Key"))
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "fine")
	}))
	defer s.Close()
	store := memory.New()
	defer func() { _ = store.Close() }()
	local := httprequest.Config{AllowPrivate: true}

	j := work(t, store, local, httprequest.Args{Method: "POST", URL: s.URL, JSON: json.RawMessage(`{}`)})
	var result httprequest.Result
	if err := json.Unmarshal(j.Result, &result); err != nil || j.State != job.Completed {
		t.Fatalf("got state %v and result %s, %v", j.State, j.Result, err)
	}
	if result.Status != 200 || result.Body != "fine" || result.Duration <= 0 {
		t.Errorf("got result %+v", result)
	}
	if got, want := key.Load(), j.ID.String(); got != want {
		t.Errorf("got idempotency key %q, want %q", got, want)
	}
	if j := work(t, store, local, httprequest.Args{URL: s.URL + "/busy"}); j.State != job.Queued || j.Used() != 1 {
		t.Errorf("status 503: got state %v after %d attempts, want a retry", j.State, j.Used())
	}
	if j := work(t, store, httprequest.Config{}, httprequest.Args{URL: s.URL}); j.State != job.Discarded {
		t.Errorf("a private address: got state %v, want discarded", j.State)
	}
	if j := work(t, store, local, httprequest.Args{URL: "nowhere"}); j.State != job.Discarded {
		t.Errorf("no URL: got state %v, want discarded", j.State)
	}
}
