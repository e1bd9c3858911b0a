package jobs

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// BenchmarkActs measures actions on every job of a kind: a million of them, queued a moment before, so that PostgreSQL has no
// statistics of them yet.
func BenchmarkActs(b *testing.B) {
	n := size(1_000_000, 3000)
	eachOf(b, ours, func(b *testing.B, p peer) {
		took := map[string]time.Duration{}
		for b.Loop() {
			q, _ := p.fresh(b, 1)
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			store := q.(*ourQueue).store
			for _, act := range []job.Action{job.ActionPriority(7), job.ActionCancel, job.ActionRetry, job.ActionDiscard, job.ActionDelete} {
				began := time.Now()
				done, err := job.Apply(b.Context(), store, job.Filter{Kinds: []string{"noop"}}, act)
				if err != nil || done.Changed != n {
					b.Fatalf("%s: %+v, %v", act, done, err)
				}
				took[act.String()] = time.Since(began)
			}
		}
		for act, d := range took {
			b.ReportMetric(d.Seconds(), act+"-s")
		}
		b.ReportMetric(0, "ns/op")
	})
}
