package jobs

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// BenchmarkActions measures actions on every job of a kind: a million jobs that have just been queued, so that PostgreSQL has no
// statistics of them yet.
func BenchmarkActions(b *testing.B) {
	n := size(1_000_000, 3000)
	eachOf(b, ours, func(b *testing.B, p peer) {
		took := map[string]time.Duration{}
		for b.Loop() {
			q, _ := p.fresh(b, 1)
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			store := q.(*ourQueue).store
			for _, action := range []job.Action{job.ActionPriority(7), job.ActionCancel, job.ActionRetry, job.ActionDiscard, job.ActionDelete} {
				began := time.Now()
				done, err := job.Apply(b.Context(), store, job.Filter{Kinds: []string{"noop"}}, action)
				if err != nil || done.Changed != n {
					b.Fatalf("%s: %+v, %v", action, done, err)
				}
				took[action.String()] = time.Since(began)
			}
		}
		for action, d := range took {
			b.ReportMetric(d.Seconds(), action+"-s")
		}
		b.ReportMetric(0, "ns/op")
	})
}
