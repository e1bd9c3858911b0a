package redis_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestLocaleOfTheServer: the scripts compare IDs by their bytes, whatever the order of texts is in the locale of the server, in which Lua compares
// them.
func TestLocaleOfTheServer(t *testing.T) {
	if _, err := locale(t); err != nil {
		testenv.Locales.Missing(t, err)
	}
	ctx, s := t.Context(), open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	const n = 600
	jobs := make([]*job.Job, n)
	for i := range jobs { // of three kinds, so that lists are merged; IDs differ from their first byte on
		jobs[i] = newJob(t, fmt.Sprint("kind-", i%3))
		jobs[i].ID[0], jobs[i].ID[1] = byte(i*37), byte(i>>3)
	}
	if _, err := s.Insert(ctx, jobs...); err != nil {
		t.Fatal(err)
	}
	var last *job.Job
	seen := map[job.ID]bool{}
	for j, err := range job.List(ctx, s, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if last != nil && string(j.ID[:]) >= string(last.ID[:]) {
			t.Fatalf("%v is listed after %v", j.ID, last.ID)
		}
		last, seen[j.ID] = j, true
	}
	if len(seen) != n {
		t.Errorf("%d of %d jobs are listed", len(seen), n)
	}
	if got, err := job.Apply(ctx, s, job.Filter{States: []job.State{job.Queued}}, job.ActionCancel); err != nil || got.Changed != n {
		t.Errorf("canceled %+v of %d jobs: %v", got, n, err)
	}
}

// TestLocaleAndOrder: of two jobs of a key that were inserted together, the one with the lower ID is the first, and holds back the other when it is
// discarded.
func TestLocaleAndOrder(t *testing.T) {
	if _, err := locale(t); err != nil {
		testenv.Locales.Missing(t, err)
	}
	ctx, s := t.Context(), open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	if err := s.SetLimits(ctx, job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}}); err != nil {
		t.Fatal(err)
	}
	const n = 100
	claim := func() []*job.Job {
		t.Helper()
		c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 2 * n}}, Limit: 2 * n, Lease: time.Minute}
		got, err := s.Claim(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return got.Jobs
	}
	for i := range n {
		first, second := newJob(t, "k", job.LimitKey(fmt.Sprint(i))), newJob(t, "k", job.LimitKey(fmt.Sprint(i)))
		if _, err := s.Insert(ctx, first, second); err != nil {
			t.Fatal(err)
		}
	}
	jobs := claim()
	for _, j := range jobs {
		j.State = job.Discarded
	}
	if lost, err := s.Settle(ctx, 1, job.Outcomes(jobs...)...); err != nil || len(jobs) != n || len(lost) > 0 {
		t.Fatalf("claimed %d jobs, want %d; %d are lost, %v", len(jobs), n, len(lost), err)
	}
	if got := claim(); len(got) > 0 {
		t.Errorf("claimed %d jobs behind a discarded one", len(got))
	}
}
