package metrics_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// probe requests one of the health pages and compares the reasons.
func probe(t *testing.T, when string, page http.HandlerFunc, reasons ...string) {
	t.Helper()
	w := httptest.NewRecorder()
	page(w, httptest.NewRequest(http.MethodGet, "/", nil))
	var got struct {
		Status  string
		Reasons []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v: %s", when, err, w.Body)
	}
	status, code := "ok", http.StatusOK
	if len(reasons) > 0 {
		status, code = "failed", http.StatusServiceUnavailable
	}
	if w.Code != code || got.Status != status || !slices.Equal(got.Reasons, reasons) {
		t.Errorf("%s: got %d %s %q, want %d %s %q", when, w.Code, got.Status, got.Reasons, code, status, reasons)
	}
}

// TestHealth: a claim loop stands still, and continues.
func TestHealth(t *testing.T) {
	for mode, name := range map[int32]string{refuses: "the store refuses", waits: "the store hangs"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &troubled{Store: memory.New()}
				defer store.Close()
				m := metrics.New(metrics.Config{Store: store, Limit: time.Minute})
				probe(t, "without a worker", m.Healthz)
				stop := work(t, m, store, job.Config{Lease: 10 * time.Second})
				time.Sleep(5 * time.Minute)
				probe(t, "at work", m.Healthz)
				probe(t, "at work", m.Readyz)

				store.mode.Store(mode)
				time.Sleep(1100 * time.Millisecond)
				probe(t, "soon", m.Healthz)
				probe(t, "soon", m.Readyz, "the store does not answer")
				time.Sleep(100 * time.Second)
				w := httptest.NewRecorder()
				m.Healthz(w, httptest.NewRequest(http.MethodGet, "/", nil))
				for _, part := range []string{`"worker 1: the claim loop has stood still for 1m`, `"the store has not answered for 1m`} {
					if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), part) {
						t.Errorf("late: got %d %s, want %s", w.Code, w.Body, part)
					}
				}
				if strings.Contains(w.Body.String(), errRefused.Error()) {
					t.Errorf("the answer shows the error of the store: %s", w.Body)
				}

				store.mode.Store(answers)
				time.Sleep(2 * time.Minute)
				probe(t, "again", m.Healthz)
				probe(t, "again", m.Readyz)
				stop()
			})
		})
	}
}

// TestHealthOfAFullWorker: a worker at capacity, whose jobs take an hour, does not claim, and is healthy.
func TestHealthOfAFullWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store})
		slow := job.Define[note]("slow")
		enqueue(t, store, slow)
		stop := work(t, m, store, job.Config{Concurrency: 1}, handle(slow, time.Hour, nil))
		time.Sleep(30 * time.Minute)
		probe(t, "full", m.Healthz)
		probe(t, "full", m.Readyz)
		want(t, gather(t, m), map[string]float64{
			"meanwhile_claim_age_seconds": 0, "meanwhile_worker_slots": 1, "meanwhile_worker_slots_used": 1,
		})
		stop()
	})
}

// TestHealthOfACutOffWorker: a worker at capacity that cannot reach its store is unhealthy, although it has no reason to claim.
func TestHealthOfACutOffWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		defer store.Close()
		m := metrics.New(metrics.Config{})
		stuck := job.Define[note]("stuck")
		enqueue(t, store, stuck)
		stop := work(t, m, store, job.Config{Concurrency: 1}, stuck.Handle(func(context.Context, note) error {
			time.Sleep(time.Hour) // even if its ctx is canceled
			return nil
		}))
		time.Sleep(time.Minute)
		probe(t, "full", m.Healthz)
		store.mode.Store(refuses)
		time.Sleep(time.Minute)
		probe(t, "cut off", m.Healthz, "worker 1: the claim loop has stood still for 2m0s, longer than 30s")
		store.mode.Store(answers)
		time.Sleep(time.Minute)
		probe(t, "again", m.Healthz)
		stop()
	})
}

// TestReadiness follows a worker from before its start to after its end.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store})
		slow := job.Define[note]("slow")
		enqueue(t, store, slow)
		worker := job.NewWorker(store, job.Config{Grace: time.Hour}, handle(slow, 40*time.Minute, nil))
		m.Watch(worker)
		probe(t, "before the start", m.Readyz, "worker 1: it does not run")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		probe(t, "at work", m.Readyz)
		stop()
		time.Sleep(30 * time.Minute)
		probe(t, "stopping", m.Readyz, "worker 1: it stops")
		probe(t, "stopping", m.Healthz)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		probe(t, "after the end", m.Readyz, "worker 1: it does not run")
		if err := meanwhile.Sleep(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
		probe(t, "after the end", m.Healthz, "worker 1: the claim loop has stood still for 40m0s, longer than 30s")
	})
}

func TestHealthMethods(t *testing.T) {
	m := metrics.New(metrics.Config{})
	for method, code := range map[string]int{http.MethodHead: 200, http.MethodGet: 200, http.MethodPost: 405} {
		for _, page := range []http.HandlerFunc{m.Healthz, m.Readyz} {
			w := httptest.NewRecorder()
			page(w, httptest.NewRequest(method, "/", nil))
			if w.Code != code {
				t.Errorf("%s: got %d, want %d", method, w.Code, code)
			}
		}
	}
}

// TestHealthWhileBlockingIsFull: calls of meanwhile.Blocking that hold all places, such as of handlers, say nothing about the store.
func TestHealthWhileBlockingIsFull(t *testing.T) {
	before := scope.BlockingSem.Resize(1)
	defer scope.BlockingSem.Resize(before)
	store := memory.New()
	defer store.Close()
	m := metrics.New(metrics.Config{Store: store})
	_, err := meanwhile.Blocking(t.Context(), func() (struct{}, error) {
		probe(t, "at work", m.Healthz)
		probe(t, "at work", m.Readyz)
		return struct{}{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}
