package redis_test

import (
	"bufio"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

const benchArgs = `{"id":123456,"title":"document number 123456","body":"lorem ipsum dolor sit amet consectetur"}`

func benchJobs(b *testing.B, n int) []*job.Job {
	b.Helper()
	jobs := newJobs(b, n, "bench")
	for _, j := range jobs {
		j.Args = []byte(benchArgs)
	}
	return jobs
}

// BenchmarkInsertSingle has 16 callers insert one job at a time; the server syncs each write.
func BenchmarkInsertSingle(b *testing.B) {
	s := open(b, "redis://"+ownServer(b).address())
	jobs := make(chan *job.Job, b.N)
	for _, j := range benchJobs(b, b.N) {
		jobs <- j
	}
	close(jobs)
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for j := range jobs {
				if _, err := s.Insert(b.Context(), j); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkClaimSettle claims and completes jobs, 500 at a time.
func BenchmarkClaimSettle(b *testing.B) {
	s := open(b, "redis://"+ownServer(b).address())
	insertAll(b, s, b.N)
	b.ResetTimer()
	complete(b, s)
}

// BenchmarkMemory reports how much of the server's memory a job uses. It needs 100,000 jobs or more: -benchtime 100000x.
func BenchmarkMemory(b *testing.B) {
	server := ownServer(b)
	s := open(b, "redis://"+server.address())
	before := usedMemory(b, server)
	insertAll(b, s, b.N)
	b.ReportMetric(float64(usedMemory(b, server)-before)/float64(b.N), "B/queued")
	complete(b, s)
	b.ReportMetric(float64(usedMemory(b, server)-before)/float64(b.N), "B/completed")
}

func insertAll(b *testing.B, s job.Store, n int) {
	b.Helper()
	for left := n; left > 0; left -= 500 {
		insert(b, s, benchJobs(b, min(left, 500))...)
	}
}

func complete(b *testing.B, s job.Store) {
	b.Helper()
	for {
		jobs := claimed(b, s, 1, 500, nil, job.DefaultQueue)
		if len(jobs) == 0 {
			return
		}
		for _, j := range jobs {
			j.State = job.Completed
		}
		if _, err := s.Settle(b.Context(), 1, job.Outcomes(jobs...)...); err != nil {
			b.Fatal(err)
		}
	}
}

func usedMemory(b *testing.B, s *server) (n int) {
	b.Helper()
	lines := bufio.NewScanner(strings.NewReader(s.do(b, "INFO", "memory")))
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "used_memory:"); ok {
			if _, err := fmt.Sscan(v, &n); err != nil {
				b.Fatal(err)
			}
		}
	}
	return n
}
