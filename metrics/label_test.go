package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// TestLabelsAreBounded uses three times as many queues, kinds, crons and scopes as there are places.
func TestLabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 3 * metrics.MaxLabels
		store := memory.New()
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store})
		ctx, stop := context.WithCancel(t.Context())
		var scopes sync.WaitGroup
		for i := range many {
			j := &job.Job{Queue: fmt.Sprintf("queue-%03d", i), Kind: "mail"}
			m.Observe(job.Event{Kind: job.JobStarted, Job: j, Wait: time.Second})
			m.Observe(job.Event{Kind: job.JobRetried, Job: j, Elapsed: time.Second})
			m.Observe(job.Event{Kind: job.CronTicked, Job: j, Cron: fmt.Sprintf("cron-%03d", i)})
			enqueue(t, store, job.Define[note]("news"), job.Queue(j.Queue))
			scopes.Go(func() {
				_ = meanwhile.Run(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name(fmt.Sprintf("scope-%03d", i)))
			})
		}
		synctest.Wait()
		got := gather(t, m)
		sums, counts := map[string]float64{}, map[string]int{}
		for full, value := range got {
			name, _, _ := strings.Cut(full, "{")
			sums[name] += value
			counts[name]++
		}
		for name, one := range map[string]int{
			"meanwhile_attempts_total": 7, "meanwhile_job_wait_seconds_count": 1, "meanwhile_job_run_seconds_sum": 1, "meanwhile_jobs": 0,
			"meanwhile_queue_depth": 1, "meanwhile_cron_ticks_total": 1, "meanwhile_tasks": 1,
		} {
			if most := one * (metrics.MaxLabels + 1); sums[name] != many || one > 0 && counts[name] != most {
				t.Errorf("%s: %d series with a sum of %v, want %d with %d", name, counts[name], sums[name], most, many)
			}
		}
		const rest = many - metrics.MaxLabels
		want(t, got, map[string]float64{
			`meanwhile_attempts_total{kind="other",outcome="retried",queue="other"}`: rest,
			`meanwhile_jobs{kind="other",queue="other",state="queued"}`:              many, // the places of pairs are used up
			`meanwhile_queue_depth{queue="other"}`:                                   rest,
			`meanwhile_cron_ticks_total{cron="other"}`:                               rest,
			`meanwhile_tasks{scope="other"}`:                                         rest,
		})
		stop()
		scopes.Wait()
	})
}

// TestAtOnce uses all methods of a collector concurrently, for the race detector.
func TestAtOnce(t *testing.T) {
	store := memory.New()
	defer store.Close()
	m := metrics.New(metrics.Config{Store: store, Interval: time.Nanosecond})
	const sides, events = 8, 300
	var all sync.WaitGroup
	for side := range sides {
		all.Go(func() {
			for i := range events {
				j := &job.Job{Queue: "default", Kind: fmt.Sprintf("kind-%d", i%10)}
				m.Observe(job.Event{Kind: job.JobStarted, Job: j})
				m.Observe(job.Event{Kind: job.JobCompleted, Job: j, Elapsed: time.Second})
			}
			if side%2 == 0 {
				m.Watch(job.NewWorker(store, job.Config{}))
			}
			gather(t, m)
		})
	}
	all.Wait()
	got := gather(t, m)
	total := 0.0
	for i := range 10 {
		total += got[fmt.Sprintf(`meanwhile_attempts_total{kind="kind-%d",outcome="completed",queue="default"}`, i)]
	}
	if total != sides*events {
		t.Errorf("%v attempts were counted, want %d", total, sides*events)
	}
}
