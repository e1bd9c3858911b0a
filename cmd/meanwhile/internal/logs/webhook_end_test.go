//go:build unix

package logs

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// TestWebhookWhenTheServerEnds: a call that is not enqueued yet when the server is stopped is enqueued then, or logged if this process would make it.
func TestWebhookWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"a store": true, "no store": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			address := freeAddress(t)
			p, err := planOf(t, "--config", written(t, "alerts: [{name: errors, count: 1, window: 1h, webhook: 'http://127.0.0.1:1'}]"), "--http", address, "--dir", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			kept, waits := memory.New(), make(chan struct{})
			p.webhooks.logger = slog.New(slog.NewTextHandler(&said, nil))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if stored {
				p.webhooks.jobs = jobtest.Faulty(kept, func(c jobtest.Call) jobtest.Fault {
					if c.Method != "Insert" || ctx.Err() != nil {
						return jobtest.Fault{}
					}
					if c.N == 1 {
						close(waits)
					}
					return jobtest.Fault{Before: errors.New("not there")}
				})
			}
			var store storage.Store
			err = meanwhile.Run(ctx, func(ctx context.Context) (err error) {
				if store, err = p.open(ctx); err != nil {
					return err
				}
				meanwhile.Go(ctx, func(ctx context.Context) error {
					defer cancel()
					err := until(ctx, func() bool {
						response, err := http.Post("http://"+address+jsonPath, "application/x-ndjson", strings.NewReader(`{"service":"api","message":"x"}`))
						return err == nil && response.Body.Close() == nil
					})
					if err == nil && stored {
						<-waits
					}
					return err
				}, meanwhile.InBackground())
				_, err = p.run(ctx, store, server.Config{Stopping: func() {
					if !stored {
						p.webhooks.call("http://127.0.0.1:1", alertEvent(t))
					}
				}})
				return err
			})
			if err := errors.Join(err, closeStore(store)); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			jobs, err := meanwhile.Collect(job.List(t.Context(), kept, job.Filter{}))
			if want := map[bool]int{true: 1}[stored]; err != nil || len(jobs) != want {
				t.Errorf("%d jobs are enqueued, %v, want %d", len(jobs), err, want)
			}
			if logged := strings.Contains(said.String(), "the webhook of an alert is not called"); logged == stored {
				t.Errorf("logged %q", said.String())
			}
		})
	}
}

// TestWebhookWaitsForRetry: a call that has failed and would be retried by this process is logged when the process ends.
func TestWebhookWaitsForRetry(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	once := sync.OnceFunc(func() { close(called) })
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		once()
	}))
	defer receiver.Close()
	var said strings.Builder
	w := newWebhooks(httprequest.Config{AllowPrivate: true}, 5*time.Second, slog.New(slog.NewTextHandler(&said, nil)))
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		calls := meanwhile.Go(ctx, w.run)
		w.call(receiver.URL, alertEvent(t))
		<-called
		calls.Cancel(nil)
		<-calls.Done()
		w.finish(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `the webhook of an alert is not called: the log server has ended before it was accepted" alert=errors attempts=1`; !strings.Contains(said.String(), want) {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}
