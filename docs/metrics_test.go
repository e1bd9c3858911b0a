package docs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/metrics"
)

func Example_readyz() {
	show(func(_ context.Context, store job.Store) error {
		m := metrics.New(metrics.Config{Store: store, Limit: time.Minute})
		worker := job.NewWorker(store, job.Config{Observe: m.Observe}, handlers...)
		m.Watch(worker)
		answer := httptest.NewRecorder()
		m.Readyz(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		fmt.Println(answer.Code, answer.Body)
		return nil
	})
	// Output:
	// 503 {"status":"failed","reasons":["worker 1: it does not run"]}
}
