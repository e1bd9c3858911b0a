package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// longName is a name of the maximum length.
var longName = strings.Repeat("a-long-name.", 10) + "12345678"

// A failingStore has kinds that fail, queues with a backlog, workers that are gone and crons that are late, with large numbers and long names.
type failingStore struct {
	job.Store
	long, counted *job.Job
}

func newFailingStore(s job.Store) failingStore { return failingStore{s, longJob(), countedJob()} }

// countedJob returns a job whose progress counts bytes, with large numbers.
func countedJob() *job.Job {
	j := longJob()
	j.Progress = &job.ProgressReport{Done: math.MaxInt64 / 2, Total: math.MaxInt64, Time: time.Now().Add(-time.Minute)}
	return j
}

// longJob returns a job whose parts are all long.
func longJob() *job.Job {
	now, unbroken := time.Now(), strings.Repeat("x", 300)
	j := &job.Job{
		ID: job.NewID(), Kind: longName, Queue: longName, State: job.Queued, Priority: -100, Attempt: 1234, Crashed: 12, Uncounted: 3, MaxAttempts: 2000,
		UniqueKey: longName + " " + unbroken, Created: now.Add(-50 * time.Hour), RunAt: now.Add(20 * time.Hour), Started: now.Add(-time.Minute), Worker: longName,
		Args: json.RawMessage(fmt.Sprintf(`{"%s": "%s", "text": "%s"}`, longName, unbroken, strings.Repeat("many words ", 60))),
	}
	j.LimitKey, j.Meta = longName, map[string]string{longName: unbroken}
	for i := range 8 {
		at := now.Add(time.Duration(i-9) * time.Minute)
		j.Failures = append(j.Failures, job.Failure{
			Attempt: 1227 + i, Started: at.Add(-time.Second), Time: at, Worker: longName,
			Error: "fetch https://example.org/" + unbroken + ": " + strings.Repeat("it was refused again, ", 40),
			Stack: strings.Repeat("goroutine 17 [running]:\nexample.org/shop/"+unbroken+"\n\t/src/shop/main.go:41 +0x1a4\n", 12),
		})
		j.Records = append(j.Records, job.Record{Attempt: 1227 + i, Time: at, Level: "ERROR", Message: strings.Repeat("a message ", 40), Attrs: "url=" + unbroken})
	}
	return j
}

func (s failingStore) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	jobs, err := s.Store.List(ctx, f)
	if slices.Contains(f.IDs, s.counted.ID) {
		jobs = append(jobs, s.counted)
	}
	if slices.Contains(f.IDs, s.long.ID) || len(f.IDs) == 0 && len(f.Kinds) == 0 && len(f.Queues) == 0 && f.Before == (job.ID{}) && (len(f.States) == 0 || slices.Contains(f.States, job.Retrying)) {
		jobs = append([]*job.Job{s.long}, jobs...)
	}
	return jobs, err
}

func (s failingStore) Counts(ctx context.Context) ([]job.Count, error) {
	counts, err := s.Store.Counts(ctx)
	for _, state := range []job.State{job.Queued, job.Running, job.Completed, job.Canceled, job.Discarded} {
		counts = append(counts, job.Count{Queue: "bulk", Kind: "kind.of.bulk", State: state, N: 1_234_567}, job.Count{Queue: longName, Kind: longName, State: state, N: 12})
	}
	return counts, err
}

func (s failingStore) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	queues, err := s.Store.Queues(ctx)
	return append(queues,
		job.QueueInfo{Name: "bulk", Queued: 1_234_567, Running: 1000, Wait: 50 * time.Hour},
		job.QueueInfo{Name: longName, Queued: 12, Paused: true},
	), err
}

func (s failingStore) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	workers, err := s.Store.Workers(ctx, names...)
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

func (s failingStore) Crons(ctx context.Context) ([]job.CronInfo, error) {
	crons, err := s.Store.Crons(ctx)
	return append(crons,
		job.CronInfo{Name: "late", Spec: "@every 1h", Last: time.Now().Add(-3 * time.Hour), Next: time.Now().Add(-2 * time.Hour)},
		job.CronInfo{Name: longName, Spec: "TZ=America/Argentina/Buenos_Aires 0,15,30,45 6-18 * * mon-fri", Paused: true},
	), err
}

func (s failingStore) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
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

// Audited returns actions of all sorts by a person with a long name. One of them has failed.
func (failingStore) Audited(context.Context, int64, int) ([]job.AuditEntry, error) {
	now := time.Now()
	return []job.AuditEntry{
		{N: 3, Time: now.Add(-time.Minute), Actor: "ann", Via: "dashboard", Action: "retry", Target: "kind=mail.send state=discarded", Changed: 1_234_567},
		{N: 2, Time: now.Add(-time.Hour), Actor: longName, Via: "api", Action: "pause", Target: "queue " + longName, Changed: 1},
		{N: 1, Time: now.Add(-50 * time.Hour), Via: "command", Action: "delete", Target: "all jobs", Error: errDown.Error()},
	}, nil
}

// A downStore does not answer while it is down.
type downStore struct {
	job.Store
	down *atomic.Bool
}

var errDown = errors.New("failed to connect to `user=postgres database=jobs`: 10.0.0.7:5432: dial error: connection refused")

// unlessDown reads from a store that may be down.
func unlessDown[T any](s downStore, read func() (T, error)) (T, error) {
	if s.down.Load() {
		var none T
		return none, errDown
	}
	return read()
}

func (s downStore) Counts(ctx context.Context) ([]job.Count, error) {
	return unlessDown(s, func() ([]job.Count, error) { return s.Store.Counts(ctx) })
}

func (s downStore) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	return unlessDown(s, func() ([]*job.Job, error) { return s.Store.List(ctx, f) })
}

func (s downStore) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	return unlessDown(s, func() ([]job.QueueInfo, error) { return s.Store.Queues(ctx) })
}

func (s downStore) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	return unlessDown(s, func() ([]job.WorkerInfo, error) { return s.Store.Workers(ctx, names...) })
}

func (s downStore) Crons(ctx context.Context) ([]job.CronInfo, error) {
	return unlessDown(s, func() ([]job.CronInfo, error) { return s.Store.Crons(ctx) })
}

func (s downStore) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	return unlessDown(s, func() ([]job.Stat, error) { return s.Store.Stats(ctx, f) })
}

func (s downStore) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	return unlessDown(s, func() ([]job.AuditEntry, error) { return s.Store.Audited(ctx, before, limit) })
}
