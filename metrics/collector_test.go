package metrics_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/metrics"
	"github.com/meanwhile-go/meanwhile/retry"
)

// TestOutcomes: attempts end with each outcome, each after a different time.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			fine      = job.Define[note]("fine")
			flaky     = job.Define[note]("flaky", job.MaxAttempts(2), job.Backoff(func(int, error) time.Duration { return time.Minute }))
			sleepy    = job.Define[note]("sleepy", job.Queue("night"))
			pointless = job.Define[note]("pointless")
			broken    = job.Define[note]("broken")
			slow      = job.Define[note]("slow")
			removed   = job.Define[note]("removed")
		)
		store := &sessionStore{Store: memory.New()}
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store, Interval: time.Second})
		for _, kind := range []*job.Kind[note]{fine, fine, flaky, sleepy, pointless, broken, slow} {
			enqueue(t, store, kind)
		}
		gone := enqueue(t, store, removed)
		stop := work(t, m, store, job.Config{Grace: -1},
			handle(fine, time.Second, nil), handle(flaky, 2*time.Second, errRefused),
			handle(sleepy, 3*time.Second, job.Snooze(time.Hour)), handle(pointless, 4*time.Second, job.Cancel(errRefused)),
			handle(broken, 5*time.Second, retry.Permanent(errRefused)), handle(slow, time.Hour, nil), handle(removed, time.Hour, nil))
		time.Sleep(10 * time.Second)
		running, err := job.Find(t.Context(), store, gone)
		if err != nil {
			t.Fatal(err)
		}
		running.State = job.Completed // from the worker's point of view, by somebody else
		if lost, err := store.Settle(t.Context(), job.Session(store.session.Load()), job.Outcome{Job: running}); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
		time.Sleep(2 * time.Minute)
		want(t, gather(t, m), map[string]float64{
			`meanwhile_attempts_total{kind="fine",outcome="completed",queue="default"}`:     2,
			`meanwhile_attempts_total{kind="fine",outcome="discarded",queue="default"}`:     0,
			`meanwhile_attempts_total{kind="flaky",outcome="retried",queue="default"}`:      1,
			`meanwhile_attempts_total{kind="flaky",outcome="discarded",queue="default"}`:    1,
			`meanwhile_attempts_total{kind="sleepy",outcome="snoozed",queue="night"}`:       1,
			`meanwhile_attempts_total{kind="pointless",outcome="canceled",queue="default"}`: 1,
			`meanwhile_attempts_total{kind="broken",outcome="discarded",queue="default"}`:   1,
			`meanwhile_attempts_total{kind="removed",outcome="lost",queue="default"}`:       1,
			`meanwhile_attempts_total{kind="slow",outcome="released",queue="default"}`:      0,
			`meanwhile_job_run_seconds_count{kind="fine",queue="default"}`:                  2,
			`meanwhile_job_run_seconds_sum{kind="fine",queue="default"}`:                    2,
			`meanwhile_job_run_seconds_sum{kind="flaky",queue="default"}`:                   4,
			`meanwhile_job_wait_seconds_count{kind="flaky",queue="default"}`:                2,
			`meanwhile_jobs{kind="fine",queue="default",state="completed"}`:                 2,
			`meanwhile_jobs{kind="sleepy",queue="night",state="queued"}`:                    1,
			`meanwhile_jobs{kind="slow",queue="default",state="running"}`:                   1,
			`meanwhile_queue_depth{queue="night"}`:                                          1,
			`meanwhile_queue_oldest_due_seconds{queue="night"}`:                             0,
			`meanwhile_queue_work_seconds{queue="night"}`:                                   0,
			`meanwhile_worker_slots`:        100,
			`meanwhile_worker_slots_used`:   1,
			`meanwhile_store_up`:            1,
			`meanwhile_tasks{scope="slow"}`: 1,
		})
		stop()
		want(t, gather(t, m), map[string]float64{
			`meanwhile_attempts_total{kind="slow",outcome="released",queue="default"}`: 1,
			`meanwhile_worker_slots`:      0,
			`meanwhile_worker_slots_used`: 0,
		})
	})
}

// TestBacklog: jobs wait without a worker, after one of them has run.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail, news := job.Define[note]("mail", job.Queue("post")), job.Define[note]("news", job.Queue("post"))
		store := memory.New()
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store, Interval: time.Second})
		enqueue(t, store, mail)
		enqueue(t, store, news, job.In(time.Hour))
		time.Sleep(2 * time.Second)
		absent(t, gather(t, m), "meanwhile_queue_work_seconds") // no run time is known
		stop := work(t, m, store, job.Config{}, handle(mail, 3*time.Second, nil), handle(news, time.Second, nil))
		time.Sleep(10 * time.Second)
		stop()
		want(t, gather(t, m), map[string]float64{`meanwhile_queue_work_seconds{queue="post"}`: 0}) // none is due
		for _, kind := range []job.EventKind{job.JobLost, job.JobReleased} {                       // the durations of these do not count
			m.Observe(job.Event{Kind: kind, Job: &job.Job{Queue: "post", Kind: "mail"}, Elapsed: time.Hour})
		}
		for range 5 {
			enqueue(t, store, mail)
		}
		time.Sleep(20 * time.Second)
		want(t, gather(t, m), map[string]float64{
			`meanwhile_queue_depth{queue="post"}`:              6,
			`meanwhile_queue_oldest_due_seconds{queue="post"}`: 20,
			`meanwhile_queue_work_seconds{queue="post"}`:       18, // news, which has not run, takes as long as mail
			`meanwhile_queue_paused{queue="post"}`:             0,
		})
		if err := store.Pause(t.Context(), "post", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		want(t, gather(t, m), map[string]float64{
			`meanwhile_queue_oldest_due_seconds{queue="post"}`: 21,
			`meanwhile_queue_work_seconds{queue="post"}`:       0,
			`meanwhile_queue_paused{queue="post"}`:             1,
		})
	})
}

func TestCronTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sweep := job.Define[note]("sweep")
		store := memory.New()
		defer store.Close()
		m := metrics.New(metrics.Config{})
		stop := work(t, m, store, job.Config{Crons: []job.Cron{{Name: "sweeping", Spec: "@every 10s", Job: sweep.Maker(note{})}}},
			handle(sweep, time.Second, nil))
		time.Sleep(31 * time.Second)
		stop()
		want(t, gather(t, m), map[string]float64{
			`meanwhile_cron_ticks_total{cron="sweeping"}`:                                3,
			`meanwhile_attempts_total{kind="sweep",outcome="completed",queue="default"}`: 3,
		})
	})
}

func TestLaneRepairs(t *testing.T) {
	m := metrics.New(metrics.Config{})
	for range 3 {
		m.Observe(job.Event{Kind: job.LaneRepaired, Repair: &job.LaneRepair{Queue: "models", Key: "tenant-7"}})
	}
	want(t, gather(t, m), map[string]float64{`meanwhile_lane_repairs_total{queue="models"}`: 3})
}

// TestOnSQLite counts the jobs of a worker on a SQLite store.
func TestOnSQLite(t *testing.T) {
	store, err := sqlite.Open(t.Context(), "sqlite:"+t.TempDir()+"/jobs.db")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := metrics.New(metrics.Config{Store: store, Interval: time.Nanosecond})
	mail := job.Define[note]("mail")
	const jobs = 500
	done := make(chan bool, jobs)
	for range jobs {
		enqueue(t, store, mail)
	}
	want(t, gather(t, m), map[string]float64{
		`meanwhile_jobs{kind="mail",queue="default",state="queued"}`: jobs,
		`meanwhile_queue_depth{queue="default"}`:                     jobs,
	})
	stop := work(t, m, store, job.Config{}, mail.Handle(func(context.Context, note) error {
		done <- true
		return nil
	}))
	for range jobs {
		<-done
	}
	stop()
	want(t, gather(t, m), map[string]float64{
		`meanwhile_jobs{kind="mail",queue="default",state="completed"}`:             jobs,
		`meanwhile_attempts_total{kind="mail",outcome="completed",queue="default"}`: jobs,
		`meanwhile_job_run_seconds_count{kind="mail",queue="default"}`:              jobs,
		`meanwhile_job_wait_seconds_count{kind="mail",queue="default"}`:             jobs,
		`meanwhile_store_up`: 1,
	})
}

func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(everything(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestZeroConfig(t *testing.T) {
	got := gather(t, metrics.New(metrics.Config{}))
	want(t, got, map[string]float64{`meanwhile_store_errors_total{call="claim"}`: 0})
	absent(t, got, "meanwhile_store_up", "meanwhile_worker_slots", "meanwhile_claim_age_seconds")
}

// everything returns a collector that has a value of each metric.
func everything(t *testing.T) *metrics.Collector {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { store.Close() })
	m := metrics.New(metrics.Config{Store: store})
	mail := job.Define[note]("mail")
	enqueue(t, store, mail)
	enqueue(t, store, mail, job.In(time.Hour))
	m.Watch(job.NewWorker(store, job.Config{}))
	j := &job.Job{Queue: "default", Kind: "mail"}
	m.Observe(job.Event{Kind: job.JobStarted, Job: j, Wait: time.Second})
	m.Observe(job.Event{Kind: job.JobCompleted, Job: j, Elapsed: time.Second})
	m.Observe(job.Event{Kind: job.CronTicked, Job: j, Cron: "hourly"})
	m.Observe(job.Event{Kind: job.LaneRepaired, Repair: &job.LaneRepair{Queue: "default", Key: "a"}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	begun := make(chan bool)
	go func() {
		ended <- meanwhile.Run(ctx, func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
			for inspect.Waits().Snapshots == 0 {
				if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
					return err
				}
			}
			close(begun)
			return meanwhile.Sleep(ctx, time.Hour)
		}, meanwhile.Name("index"))
	}()
	<-begun
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return m
}

// A sessionStore records the session of its worker.
type sessionStore struct {
	job.Store
	session atomic.Int64
}

func (s *sessionStore) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	s.session.Store(int64(c.Session))
	return s.Store.Claim(ctx, c)
}
