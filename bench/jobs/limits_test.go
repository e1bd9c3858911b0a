package jobs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A limited is a kind of limits on the jobs that are claimed and settled.
type limited struct {
	name   string
	limits job.Limits
	keys   int // number of keys of the jobs; zero for jobs without a key
}

// BenchmarkLimits claims and settles jobs whose limits hold back none for long, and in turn the same without limits, in the store without a
// worker.
func BenchmarkLimits(b *testing.B) {
	n, rounds := size(50_000, 400), size(3, 1)
	room := job.Limits{Running: job.MaxLimit}
	ways := []limited{
		{"none", job.Limits{}, 0},
		{"queue", room, 0},
		{"1000-keys", job.Limits{Running: job.MaxLimit, EachKey: job.KeyLimits{Running: job.MaxLimit}}, size(1000, 10)},
		{"1000-keys-two-each", job.Limits{EachKey: job.KeyLimits{Running: 2}}, size(1000, 10)},
		{"key-each", job.Limits{EachKey: job.KeyLimits{Running: job.MaxLimit}}, n},
	}
	eachOf(b, bare, func(b *testing.B, p peer) {
		took := make([]time.Duration, len(ways))
		for b.Loop() {
			for range rounds {
				for i, way := range ways {
					took[i] += drainLimited(b, p, n, way)
				}
			}
		}
		for i, way := range ways {
			b.ReportMetric(perSecond(b.N*rounds*n, took[i]), way.name+"-jobs/s")
			if i > 0 {
				b.ReportMetric(100*float64(took[0])/float64(took[i]), way.name+"-%")
			}
		}
		b.ReportMetric(0, "ns/op")
	})
}

func drainLimited(b *testing.B, p peer, n int, way limited) time.Duration {
	b.Helper()
	q, where := p.fresh(b, 0)
	defer q.close()
	store := q.(bareQueue).store
	if err := store.SetLimits(b.Context(), job.DefaultQueue, way.limits); err != nil {
		b.Fatal(err)
	}
	insertWithKeys(b, store, n, func(i int) string {
		if way.keys == 0 {
			return ""
		}
		return fmt.Sprint("key ", i%way.keys)
	})
	rest(b, p.store, where)
	took, err := run(b.Context(), q, n, nothing)
	if err != nil {
		b.Fatal(err)
	}
	return took
}

func insertWithKeys(b *testing.B, store job.Store, n int, key func(i int) string) {
	b.Helper()
	var jobs []*job.Job
	for i := range n {
		j, err := noop.New(args{N: i}, job.LimitKey(key(i)))
		if err != nil {
			b.Fatal(err)
		}
		if jobs = append(jobs, j); len(jobs) == 1000 || i == n-1 {
			if _, err := store.Insert(b.Context(), jobs...); err != nil {
				b.Fatal(err)
			}
			jobs = jobs[:0]
		}
	}
}

// BenchmarkFullKeys claims single jobs of new keys while each of 100,000 other keys is at capacity and has one more job waiting.
func BenchmarkFullKeys(b *testing.B) {
	keys, claims := size(100_000, 200), size(1000, 20)
	eachOf(b, bare, func(b *testing.B, p peer) {
		var took []time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 0)
			store := q.(bareQueue).store
			if err := store.SetLimits(b.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
				b.Fatal(err)
			}
			insertWithKeys(b, store, keys, func(i int) string { return fmt.Sprint("full ", i) })
			for left := keys; left > 0; {
				left -= len(claimSome(b, store, 1000))
			}
			insertWithKeys(b, store, keys, func(i int) string { return fmt.Sprint("full ", i) })
			if got := claimSome(b, store, 10); len(got) > 0 { // the store detects that they are at capacity
				b.Fatalf("%d jobs of keys at capacity were claimed", len(got))
			}
			rest(b, p.store, where)
			took = append(took, startsOf(b, store, claims)...)
			q.close()
		}
		reportStarts(b, took)
	})
}

// BenchmarkNewKey claims single jobs of new keys while another key has a million jobs, all of which may run.
func BenchmarkNewKey(b *testing.B) {
	n, claims := size(1_000_000, 1000), size(1000, 20)
	eachOf(b, bare, func(b *testing.B, p peer) {
		var took []time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 0)
			store := q.(bareQueue).store
			if err := store.SetLimits(b.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: job.MaxLimit}}); err != nil {
				b.Fatal(err)
			}
			insertWithKeys(b, store, n, func(int) string { return "one" })
			rest(b, p.store, where)
			took = append(took, startsOf(b, store, claims)...)
			q.close()
		}
		reportStarts(b, took)
	})
}

// startsOf returns how long it takes from the insert of a job with a new key until it is claimed, by claims of up to ten jobs.
func startsOf(b *testing.B, store job.Store, n int) (took []time.Duration) {
	b.Helper()
	for i := range n {
		key := fmt.Sprint("new ", i)
		began := time.Now()
		insertWithKeys(b, store, 1, func(int) string { return key })
		for claims := 0; ; claims++ {
			got := claimSome(b, store, 10)
			if slices.ContainsFunc(got, func(j *job.Job) bool { return j.LimitKey == key }) {
				break
			}
			if claims == 100 {
				b.Fatalf("the job of key %s is not claimed", key)
			}
		}
		took = append(took, time.Since(began))
	}
	return took
}

func claimSome(b *testing.B, store job.Store, n int) []*job.Job {
	b.Helper()
	got, err := store.Claim(b.Context(), job.Claim{
		Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: time.Hour,
	})
	if err != nil {
		b.Fatal(err)
	}
	return got.Jobs
}

func reportStarts(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}
