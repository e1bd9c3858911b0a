package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var usedMemory = regexp.MustCompile(`used_memory:(\d+)`)

// BenchmarkQueuedMemory reports the memory of a Redis server that a queued job with 100 bytes of args uses.
func BenchmarkQueuedMemory(b *testing.B) {
	n := size(100_000, 1000)
	each(b, func(b *testing.B, p peer) {
		if p.store != "redis" {
			b.Skip("jobs are in memory on Redis only")
		}
		used := func(where string) (bytes float64) {
			if found := usedMemory.FindStringSubmatch(askRedis(b, where, "INFO", "memory")); found != nil {
				bytes, _ = strconv.ParseFloat(found[1], 64)
			}
			return bytes
		}
		var sum float64
		for b.Loop() {
			q, where := p.fresh(b, 1)
			if err := fill(b, q, 0, 16); err != nil { // creates the keys that exist only once
				b.Fatal(err)
			}
			before := used(where)
			if err := fill(b, q, 1, n); err != nil {
				b.Fatal(err)
			}
			sum += used(where) - before
		}
		b.ReportMetric(sum/float64(b.N*n), "B/job")
		b.ReportMetric(0, "ns/op")
	})
}

// fill enqueues n jobs with 100 bytes of args each, one by one from 16 goroutines.
func fill(b *testing.B, q queue, from, n int) error {
	b.Helper()
	errs := make([]error, 16)
	var group sync.WaitGroup
	for c := range errs {
		group.Go(func() {
			for i := c; i < n && errs[c] == nil; i += len(errs) {
				errs[c] = q.enqueue(b.Context(), hundredBytes(from+i))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func hundredBytes(n int) args {
	a := args{N: n, At: time.Now().UnixNano(), Text: "x"}
	text, _ := json.Marshal(a) // numbers and letters cannot fail
	a.Text = strings.Repeat("x", 101-len(text))
	return a
}

// BenchmarkKeys is BenchmarkDrain for jobs that have a thousand limit keys, compared with jobs without any: no limit is reached.
func BenchmarkKeys(b *testing.B) {
	n, keys := size(50_000, 200), size(1000, 10)
	eachOf(b, ours, func(b *testing.B, p peer) {
		if p.store != "redis" {
			b.Skip("the bar is for Redis only")
		}
		var without, with time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 1000)
			without += drain(b, q, p.store, where, n)
			q, _ = p.fresh(b, 1000)
			for k := range keys {
				if err := q.(*ourQueue).bulkWith(b.Context(), n/keys, job.LimitKey(fmt.Sprint("key", k))); err != nil {
					b.Fatal(err)
				}
			}
			took, err := run(b.Context(), q, n, nothing)
			if err != nil {
				b.Fatal(err)
			}
			with += took
		}
		b.ReportMetric(perSecond(b.N*n, without), "without-jobs/s")
		b.ReportMetric(perSecond(b.N*n, with), "jobs/s")
		b.ReportMetric(100*float64(without)/float64(with), "%-of-without")
		b.ReportMetric(0, "ns/op")
	})
}
