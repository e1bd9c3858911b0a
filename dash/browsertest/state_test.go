package browsertest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A state is a dashboard with something to see that the scene alone does not have.
type state struct {
	name  string
	h     http.Handler
	paths []string
}

// states are: what a scene has; nothing at all; trouble, and long names; for those who may not act; a store that does not answer.
func (s *stage) states() []state {
	title, readOnly := "shop", func(*http.Request) bool { return true }
	common := []string{"/", "/jobs", "/failures", "/queues", "/workers", "/crons", "/audit"}
	return []state{
		{"full", dash.New(dash.Config{Store: s.Store, Logs: s.logs, Title: title, Version: "1.4.2"}), append(
			s.paths(), "/jobs?args=user%3D7&kind=mail.send", "/jobs?args=wrong", "/jobs?worker=shop-1&sort=-took", "/jobs/act?act=delete&all=1", "/jobs/act?act=priority&all=1&kind=mail.send",
			"/jobs/"+s.Failed.String()+"/clone", "/logs?q=nothing", "/nothing", "/jobs?before="+s.Failed.String(), "/failures?kind=mail.send",
			"/jobs?did-act=cancel&did=1&did-skipped=2",
		)},
		{"empty", dash.New(dash.Config{Store: memory.New(), Title: title}), append(common, "/logs", "/jobs?kind=none")},
		{"troubled", dash.New(dash.Config{Store: troubled{s.Store}, Logs: s.logs, Title: "a shop with a rather long title", Version: "v1.4.2-0.20260131150405"}), append(common, "/queue?name=bulk", "/queue?name="+longName)},
		{"readonly", dash.New(dash.Config{Store: s.Store, Logs: s.logs, Title: title, ReadOnly: readOnly}), append(common, "/jobs/"+s.Failed.String(), "/queue?name=mail", "/cron?name=sweep", "/jobs/"+s.Import.String())},
		{"down", dash.New(dash.Config{Store: down{s.Store}, Title: title}), []string{"/", "/jobs"}},
	}
}

// longName is a name as long as they may be.
var longName = strings.Repeat("a-long-name.", 10) + "12345678"

// A troubled store has queues that are behind, workers that are gone and crons that are late, with large numbers and long names.
type troubled struct{ job.Store }

func (s troubled) Counts(ctx context.Context) ([]job.Count, error) {
	counts, err := s.Store.Counts(ctx)
	for _, state := range []job.State{job.Queued, job.Running, job.Completed, job.Canceled, job.Discarded} {
		counts = append(counts, job.Count{Queue: "bulk", Kind: "kind.of.bulk", State: state, N: 1_234_567}, job.Count{Queue: longName, Kind: longName, State: state, N: 12})
	}
	return counts, err
}

func (s troubled) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	queues, err := s.Store.Queues(ctx)
	return append(queues,
		job.QueueInfo{Name: "bulk", Queued: 1_234_567, Running: 1000, Wait: 50 * time.Hour},
		job.QueueInfo{Name: longName, Queued: 12, Paused: true},
	), err
}

func (s troubled) Workers(ctx context.Context) ([]job.WorkerInfo, error) {
	workers, err := s.Store.Workers(ctx)
	for _, w := range []job.WorkerInfo{
		{Name: "gone-1", Host: "web-1", PID: 17, Seen: time.Now().Add(-5 * time.Minute)},
		{Name: "quiet-1", Host: "web-2", PID: 18, Seen: time.Now(), Quiet: true, Memory: 3 << 30, Running: 1000, Concurrency: 1000},
		{Name: longName, Host: longName, PID: 4_194_304, Seen: time.Now(), Stopping: true, Version: "v1.4.2-0.20260131150405-0123456789ab"},
	} {
		w.Queues, w.Kinds, w.Started = []string{"mail", longName}, []string{"mail.send"}, time.Now().Add(-50*time.Hour)
		workers = append(workers, w)
	}
	return workers, err
}

func (s troubled) Crons(ctx context.Context) ([]job.CronInfo, error) {
	crons, err := s.Store.Crons(ctx)
	return append(crons,
		job.CronInfo{Name: "late", Spec: "@every 1h", Last: time.Now().Add(-3 * time.Hour), Next: time.Now().Add(-2 * time.Hour)},
		job.CronInfo{Name: longName, Spec: "TZ=America/Argentina/Buenos_Aires 0,15,30,45 6-18 * * mon-fri", Paused: true},
	), err
}

func (s troubled) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	stats, err := s.Store.Stats(ctx, f)
	now := time.Now().UTC().Truncate(time.Minute)
	for i := range 50 {
		for _, kind := range []string{"mail.send", "picture.resize", "feed.import", longName} {
			row := job.Stat{Minute: now.Add(-time.Duration(i) * time.Minute), Worker: "shop-1", Queue: "bulk", Kind: kind, Completed: 1234, Retried: 5678, Discarded: 9}
			row.Wait.Add(20 * time.Hour)
			row.Run.Add(90 * time.Minute)
			if f.Matches(&row) {
				stats = append(stats, row)
			}
		}
	}
	return stats, err
}

// Audited returns actions of a person with a long name, by the ways there are, one of which has failed.
func (troubled) Audited(context.Context, int64, int) ([]job.AuditEntry, error) {
	now := time.Now()
	return []job.AuditEntry{
		{N: 3, Time: now.Add(-time.Minute), Actor: "ann", Via: "dashboard", Action: "retry", Target: "kind=mail.send state=discarded", Changed: 1_234_567},
		{N: 2, Time: now.Add(-time.Hour), Actor: longName, Via: "api", Action: "pause", Target: "queue " + longName, Changed: 1},
		{N: 1, Time: now.Add(-50 * time.Hour), Via: "command", Action: "delete", Target: "all jobs", Error: errDown.Error()},
	}, nil
}

// A store that is down answers nothing.
type down struct{ job.Store }

var errDown = errors.New("failed to connect to `user=postgres database=jobs`: 10.0.0.7:5432: dial error: connection refused")

func (down) Counts(context.Context) ([]job.Count, error)          { return nil, errDown }
func (down) List(context.Context, job.Filter) ([]*job.Job, error) { return nil, errDown }

// serve serves a state for the time of a test, and returns its address.
func (s state) serve(t *testing.T) string {
	server := httptest.NewServer(s.h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// at is the stage with the dashboard of another address.
func (s *stage) at(url string) *stage {
	other := *s
	other.url = url
	return &other
}
