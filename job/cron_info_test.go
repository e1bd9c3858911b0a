package job_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestUpcoming: the next ticks of a cron can be computed from what the store keeps of it.
func TestUpcoming(t *testing.T) {
	from := time.Date(2026, 1, 31, 15, 4, 0, 0, time.UTC)
	for spec, want := range map[string][]string{
		"30 6 * * mon-fri UTC":           {"2026-02-02T06:30:00Z", "2026-02-03T06:30:00Z"},
		"@every 90s":                     {"2026-01-31T15:04:30Z", "2026-01-31T15:06:00Z"},
		"0 12 * * * America/New_York":    {"2026-01-31T17:00:00Z", "2026-02-01T17:00:00Z"},
		"0 12 * * * Local":               nil,
		"0 12 * * * Nowhere/Nothing":     nil,
		"0 12 * * * ":                    nil, // of a time.FixedZone without a name, which is not UTC
		"what a later version knows UTC": nil,
		"":                               nil,
	} {
		info := job.CronInfo{Spec: spec}
		var got []string
		for _, at := range info.Upcoming(from, 2) {
			got = append(got, at.UTC().Format(time.RFC3339))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", spec, got, want)
		}
	}
}

// TestJobsOfCron: jobs can be found by the cron that enqueued them. A value that the program has set stays, and so does a job whose Meta is full.
func TestJobsOfCron(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		full := []job.EnqueueOption{}
		for i := range job.MaxMeta {
			full = append(full, job.Meta(string(rune('A'+i)), "x"))
		}
		kind := job.Define[struct{}]("k")
		w := job.NewWorker(s, job.Config{Crons: []job.Cron{
			{Name: "plain", Spec: "@every 1m", Job: kind.Maker(struct{}{}, job.Meta("tenant", "7"))},
			{Name: "named", Spec: "@every 1m", Job: kind.Maker(struct{}{}, job.Meta(job.MetaCron, "mine"))},
			{Name: "full", Spec: "@every 1m", Job: kind.Maker(struct{}{}, full...)},
		}}, kind.Handle(func(context.Context, struct{}) error { return nil }))
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for filter, want := range map[string]int{"plain": 1, "mine": 1, "named": 0, "full": 0} {
			jobs, err := s.List(t.Context(), job.Filter{Meta: map[string]string{job.MetaCron: filter}, Limit: 10})
			if err != nil || len(jobs) != want {
				t.Errorf("%d jobs of %s, %v, want %d", len(jobs), filter, err, want)
			}
		}
		if jobs, _ := s.List(t.Context(), job.Filter{Meta: map[string]string{"tenant": "7"}, Limit: 10}); len(jobs) != 1 {
			t.Errorf("%d jobs have their own meta, want 1", len(jobs))
		}
		if jobs, _ := s.List(t.Context(), job.Filter{Meta: map[string]string{"A": "x"}, Limit: 10}); len(jobs) != 1 {
			t.Errorf("%d jobs have a full meta, want 1", len(jobs))
		}
	})
}
