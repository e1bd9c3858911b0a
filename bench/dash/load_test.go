package dash

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

const (
	dashboards = 50
	rate       = 10_000 // jobs a second
)

type args struct {
	N int `json:"n"`
}

var noop = job.Define[args]("noop")

// BenchmarkDashboards has a worker run 10,000 jobs a second, which are enqueued at the same time, without and with 50 open
// dashboards that are read over HTTP in the same process: ten of each of five pages. One round is some seconds without them and
// as long with them.
func BenchmarkDashboards(b *testing.B) {
	phase := 3 * time.Second // several updates, which are sent every second
	if os.Getenv("MEANWHILE_BENCH_JOBS") == "full" {
		phase = 20 * time.Second
	}
	var without, with float64
	var events int64
	for b.Loop() {
		n, _ := run(b, phase, 0)
		without += n
		n, seen := run(b, phase, dashboards)
		with += n
		events += seen
	}
	b.ReportMetric(without/float64(b.N), "alone-jobs/s")
	b.ReportMetric(with/float64(b.N), "jobs/s")
	b.ReportMetric(100*(1-with/without), "%-fewer")
	b.ReportMetric(float64(events)/float64(b.N)/phase.Seconds(), "updates/s")
	b.ReportMetric(0, "ns/op")
}

// run returns how many jobs per second were completed, and how many updates the dashboards received.
func run(b *testing.B, phase time.Duration, readers int) (perSecond float64, updates int64) {
	b.Helper()
	store, err := sqlite.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "jobs.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	server := httptest.NewServer(dash.New(dash.Config{Store: store}))
	defer server.Close()
	defer server.CloseClientConnections()
	var done, received atomic.Int64
	err = meanwhile.Run(b.Context(), func(ctx context.Context) error {
		worker := job.NewWorker(store, job.Config{Concurrency: 1000}, noop.Handle(func(context.Context, args) error {
			done.Add(1)
			return nil
		}))
		meanwhile.Go(ctx, worker.Run, meanwhile.InBackground())
		meanwhile.Go(ctx, func(ctx context.Context) error { return feed(ctx, store) }, meanwhile.InBackground())
		pages := []string{"/", "/jobs", "/jobs?state=completed", "/queues", "/workers"}
		for i := range readers {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				return read(ctx, server.URL+pages[i%len(pages)], &received)
			}, meanwhile.InBackground())
		}
		if err := meanwhile.Sleep(ctx, phase/5); err != nil { // until all dashboards are open
			return err
		}
		before, seen, begun := done.Load(), received.Load(), time.Now()
		if err := meanwhile.Sleep(ctx, phase); err != nil {
			return err
		}
		perSecond = float64(done.Load()-before) / time.Since(begun).Seconds()
		updates = received.Load() - seen
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if readers > 0 && updates == 0 {
		b.Fatal("no dashboard was updated")
	}
	return perSecond, updates
}

// feed enqueues jobs at the rate, those of a hundredth of a second at a time.
func feed(ctx context.Context, store job.Store) error {
	for n, begun := 0, time.Now(); ; {
		want := int(time.Since(begun).Seconds() * rate)
		jobs := make([]args, 0, max(want-n, 0))
		for ; n < want; n++ {
			jobs = append(jobs, args{n})
		}
		if _, err := noop.EnqueueAll(ctx, store, func(yield func(args, error) bool) {
			for _, a := range jobs {
				if !yield(a, nil) {
					return
				}
			}
		}); err != nil {
			return err
		}
		if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// read opens a live page, as a browser does, and counts its updates.
func read(ctx context.Context, url string, received *atomic.Int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		return fmt.Errorf("%s is not live: it answers %s as %s", url, response.Status, got)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			received.Add(1)
		}
	}
	return lines.Err()
}
