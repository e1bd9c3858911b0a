package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestACronThatFailsHoldsUpNoOther has a cron that gives the same job at each tick, which the store takes once.
func TestACronThatFailsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same, err := noteKind.New(note{"same"})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, job.Config{Crons: []job.Cron{
			{Name: "broken", Spec: "@every 1m", Job: func(time.Time) (*job.Job, error) { return same, nil }},
			{Name: "good", Spec: "@every 1m", Job: noteKind.Maker(note{"good"})},
		}}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(10.5 * 60)
		made := map[string]int{}
		for j, err := range job.List(t.Context(), r.store, job.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			args, err := noteKind.Args(j)
			if err != nil {
				t.Fatal(err)
			}
			made[args.Text]++
		}
		if made["same"] != 1 || made["good"] < 9 {
			t.Errorf("ticks: %v; want 1 of the cron that fails, and 10 of the other", made)
		}
	})
}
