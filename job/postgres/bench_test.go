package postgres_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

const benchArgs = `{"id":123456,"title":"document number 123456","body":"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod"}`

func benchJobs(b *testing.B, n int) []*job.Job {
	b.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		j, err := job.New("bench", []byte(benchArgs))
		if err != nil {
			b.Fatal(err)
		}
		jobs[i] = j
	}
	return jobs
}

// share divides n pieces of work among goroutines.
func share(n, goroutines int, do func(worker, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range goroutines {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				do(w, int(i))
			}
		})
	}
	wg.Wait()
}

func perSecond(b *testing.B, what string, n int) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), what+"/s")
}

// fill inserts n jobs, 1000 at a time.
func fill(b *testing.B, s *postgres.Store, n int) {
	b.Helper()
	share(n/1000, 2, func(int, int) {
		if _, err := s.Insert(b.Context(), benchJobs(b, 1000)...); err != nil {
			b.Error(err)
		}
	})
}

// drain claims and completes all jobs, 500 at a time, with two workers.
func drain(b *testing.B, s *postgres.Store, n int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	names := []string{"worker a", "worker b"}
	share(2, 2, func(w, _ int) {
		for left.Load() > 0 {
			done, err := s.Claim(b.Context(), job.Claim{
				Worker: names[w], Session: job.Session(w + 1), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 500}}, Limit: 500, Lease: time.Minute,
			})
			if err != nil {
				b.Error(err)
				return
			}
			for _, j := range done.Jobs {
				j.State = job.Completed
			}
			if lost, err := s.Settle(b.Context(), job.Session(w+1), job.Outcomes(done.Jobs...)...); err != nil || len(lost) > 0 {
				b.Errorf("lost %d: %v", len(lost), err)
				return
			}
			left.Add(-int64(len(done.Jobs)))
		}
	})
}

func BenchmarkClaimSettle(b *testing.B) {
	s := open(b, database(b, server()))
	for b.Loop() {
		b.StopTimer()
		fill(b, s, 50000)
		b.StartTimer()
		drain(b, s, 50000)
	}
	perSecond(b, "jobs", b.N*50000)
}

func BenchmarkInsertBulk(b *testing.B) {
	s := open(b, database(b, server()))
	for b.Loop() {
		fill(b, s, 50000)
	}
	perSecond(b, "jobs", b.N*50000)
}

// BenchmarkInsertSingle measures 16 callers, each inserting one job at a time.
func BenchmarkInsertSingle(b *testing.B) {
	s := open(b, database(b, server()))
	for b.Loop() {
		jobs := benchJobs(b, 10000)
		share(len(jobs), 16, func(_, i int) {
			if _, err := s.Insert(b.Context(), jobs[i-1]); err != nil {
				b.Error(err)
			}
		})
	}
	perSecond(b, "jobs", b.N*10000)
}

// BenchmarkLatency measures the time from before the insert to after the claim, at 100 jobs a second.
func BenchmarkLatency(b *testing.B) {
	s := open(b, database(b, server()))
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var mu sync.Mutex
	began, took := map[job.ID]time.Time{}, []time.Duration{}
	got := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			if _, err := s.Wait(ctx, job.DefaultQueue); err != nil {
				return
			}
			jobs := claim(b, s, 100)
			now := time.Now()
			mu.Lock()
			for _, j := range jobs {
				took = append(took, now.Sub(began[j.ID]))
			}
			mu.Unlock()
			select {
			case got <- struct{}{}:
			default:
			}
		}
	})
	for b.Loop() {
		j := benchJobs(b, 1)[0]
		mu.Lock()
		began[j.ID] = time.Now()
		mu.Unlock()
		if _, err := s.Insert(b.Context(), j); err != nil {
			b.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	cancel()
	wg.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		b.Fatal("no job was claimed")
	}
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkOldSnapshot is BenchmarkClaimSettle with a transaction open that started before it and keeps vacuum from removing dead
// rows.
func BenchmarkOldSnapshot(b *testing.B) {
	url := database(b, server())
	s := open(b, url)
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context()))
	if _, err := conn.Exec(b.Context(), "begin isolation level repeatable read; select count(*) from meanwhile.queued"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for range 100 {
			fill(b, s, 1000)
			drain(b, s, 1000)
		}
	}
	perSecond(b, "jobs", b.N*100000)
}
