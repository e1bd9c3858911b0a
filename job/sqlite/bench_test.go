package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

const benchBatch = 500

func newJobs(tb testing.TB, n int, opts ...job.EnqueueOption) []*job.Job {
	tb.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		var err error
		if jobs[i], err = job.New("bench", json.RawMessage(`{"id":12345,"name":"a document"}`), opts...); err != nil {
			tb.Fatal(err)
		}
	}
	return jobs
}

func insert(tb testing.TB, s job.Store, jobs []*job.Job) {
	tb.Helper()
	for len(jobs) > 0 {
		n := min(len(jobs), 1000)
		if _, err := s.Insert(tb.Context(), jobs[:n]...); err != nil {
			tb.Fatal(err)
		}
		jobs = jobs[n:]
	}
}

var benchClaim = job.Claim{
	Worker: "host-4711-abcdef", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: benchBatch}}, Limit: benchBatch, Lease: 30 * time.Second,
}

// drain claims and completes jobs until none is due, and returns how many there were.
func drain(ctx context.Context, s job.Store) (int, error) {
	for n := 0; ; {
		got, err := s.Claim(ctx, benchClaim)
		if err != nil || len(got.Jobs) == 0 {
			return n, err
		}
		n += len(got.Jobs)
		for _, j := range got.Jobs {
			j.State = job.Completed
		}
		if lost, err := s.Settle(ctx, 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
			return n, fmt.Errorf("settle lost %d: %w", len(lost), err)
		}
	}
}

// perSecond reports jobs per second: each iteration of these benchmarks is one job.
func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s") }

func BenchmarkInsert(b *testing.B) {
	s := open(b, file(b))
	jobs := newJobs(b, b.N)
	b.ResetTimer()
	insert(b, s, jobs)
	perSecond(b)
}

// BenchmarkInsertOne has 16 callers, each of which inserts one job after the other and waits until it is durable.
func BenchmarkInsertOne(b *testing.B) {
	s := open(b, file(b))
	b.SetParallelism(8) // times GOMAXPROCS, which is 2 on the machine where results are compared
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			j, err := job.New("bench", json.RawMessage(`{"id":12345}`))
			if err == nil {
				_, err = s.Insert(b.Context(), j)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	perSecond(b)
}

func BenchmarkClaimSettle(b *testing.B) {
	s := open(b, file(b))
	insert(b, s, newJobs(b, b.N))
	b.ResetTimer()
	drainAll(b, s, b.N)
	perSecond(b)
}

func drainAll(b *testing.B, s job.Store, want int) {
	b.Helper()
	if n, err := drain(b.Context(), s); err != nil || n != want {
		b.Fatalf("drained %d of %d: %v", n, want, err)
	}
}

// BenchmarkLatency measures the time from before the insert of a job until a waiting worker has claimed it.
func BenchmarkLatency(b *testing.B) {
	s := open(b, file(b))
	claimed := make(chan job.ID)
	err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
		worker := meanwhile.Go(ctx, func(ctx context.Context) error {
			for {
				got, err := s.Claim(ctx, benchClaim)
				if err != nil {
					return err
				}
				for _, j := range got.Jobs {
					claimed <- j.ID
				}
				if len(got.Jobs) == 0 {
					if _, err := s.Wait(ctx, job.DefaultQueue); err != nil {
						return err
					}
				}
			}
		})
		defer worker.Cancel(context.Canceled)
		for range b.N {
			if _, err := s.Insert(ctx, newJobs(b, 1)...); err != nil {
				return err
			}
			<-claimed
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBeside inserts and drains in an empty file and in one that holds a million other jobs, in turns, so that other load on
// the machine affects both alike. It reports how much longer the second takes.
func BenchmarkBeside(b *testing.B) {
	const many = 1_000_000
	for _, beside := range []struct {
		name string
		fill func(b *testing.B, s *sqlite.Store)
	}{
		{"archived", func(b *testing.B, s *sqlite.Store) {
			insert(b, s, newJobs(b, many))
			drainAll(b, s, many)
		}},
		{"queued", func(b *testing.B, s *sqlite.Store) {
			insert(b, s, newJobs(b, many, job.Priority(1), job.Queue("other")))
		}},
		{"scheduled", func(b *testing.B, s *sqlite.Store) {
			insert(b, s, newJobs(b, many, job.Priority(9), job.In(time.Hour)))
		}},
	} {
		b.Run(beside.name, func(b *testing.B) {
			empty, filled := open(b, file(b)), open(b, file(b))
			beside.fill(b, filled)
			var inserting, draining [2]time.Duration
			b.ResetTimer()
			for range b.N {
				for i, s := range []*sqlite.Store{empty, filled} {
					jobs := newJobs(b, 10_000)
					begun := time.Now()
					insert(b, s, jobs)
					inserted := time.Now()
					drainAll(b, s, len(jobs))
					inserting[i] += inserted.Sub(begun)
					draining[i] += time.Since(inserted)
				}
			}
			b.ReportMetric(100*(float64(inserting[1])/float64(inserting[0])-1), "%slower-insert")
			b.ReportMetric(100*(float64(draining[1])/float64(draining[0])-1), "%slower-drain")
		})
	}
}

// BenchmarkLimitedClaimSettle is BenchmarkClaimSettle for jobs with limit keys, whose limits hold back no job for long.
func BenchmarkLimitedClaimSettle(b *testing.B) {
	free := job.KeyLimits{Running: job.MaxLimit}
	for _, bench := range []struct {
		name string
		each job.KeyLimits
		keys func(n int) int
	}{
		{"none", job.KeyLimits{}, func(int) int { return 0 }},
		{"keys=1000", free, func(int) int { return 1000 }},
		{"keys=1000/two-each", job.KeyLimits{Running: 2}, func(int) int { return 1000 }},
		{"key-each", free, func(n int) int { return n }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := open(b, file(b))
			keys := bench.keys(b.N)
			if keys > 0 {
				if err := s.SetLimits(b.Context(), job.DefaultQueue, job.Limits{EachKey: bench.each}); err != nil {
					b.Fatal(err)
				}
			}
			jobs := newJobs(b, b.N)
			for i, j := range jobs {
				if keys > 0 {
					j.LimitKey = fmt.Sprint("key ", i%keys)
				}
			}
			insert(b, s, jobs)
			b.ResetTimer()
			drainAll(b, s, b.N)
			perSecond(b)
		})
	}
}
