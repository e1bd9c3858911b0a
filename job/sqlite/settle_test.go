package sqlite_test

import (
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestSettleAfterOthers settles jobs that this store wrongly caches as held.
func TestSettleAfterOthers(t *testing.T) {
	path := migrated(t)
	s, other := open(t, path), open(t, path)
	insert(t, s, newJobs(t, 1, job.Unique("a")))
	insert(t, s, newJobs(t, 99))
	got, err := s.Claim(t.Context(), benchClaim)
	if err != nil || len(got.Jobs) != 100 {
		t.Fatal(len(got.Jobs), err)
	}
	gone := []job.ID{got.Jobs[7].ID, got.Jobs[99].ID}
	for _, id := range gone {
		if lost, err := other.Settle(t.Context(), benchClaim.Session, job.Outcome{Job: &job.Job{ID: id, Attempt: 1, State: job.Completed}}); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
	}
	if _, err := other.Apply(t.Context(), job.Filter{IDs: gone, Limit: 2}, job.ActionDelete); err != nil {
		t.Fatal(err)
	}
	for _, j := range got.Jobs {
		j.State = job.Completed
	}
	lost, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...)
	if err != nil || !slices.Equal(lost, gone) {
		t.Errorf("lost %v, %v; want %v", lost, err, gone)
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) != 100 {
		t.Errorf("settled again, %d are lost, %v; want 100", len(lost), err)
	}
	counts, err := s.Counts(t.Context())
	if want := []job.Count{{Queue: job.DefaultQueue, Kind: "bench", State: job.Completed, N: 98}}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("counts %v, %v; want %v", counts, err, want)
	}
	again := newJobs(t, 1, job.Unique("a"))
	if ids, err := s.Insert(t.Context(), again...); err != nil || ids[0] != again[0].ID {
		t.Errorf("the unique key of a job that has finished is held: %v, %v", ids, err)
	}
	checkIntegrity(t, s)
}
