package sqlite_test

import (
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestInsertAndClaim: the call claims the jobs that it inserts, after older jobs, and a call that fails has no effect. The claimed jobs are settled
// like all others.
func TestInsertAndClaim(t *testing.T) {
	s := open(t, migrated(t))
	jobs := newJobs(t, 3)
	insert(t, s, jobs[:1])
	claim := benchClaim
	claim.Limit = 2
	if _, _, err := s.InsertAndClaim(t.Context(), []*job.Job{jobs[1], jobs[0]}, claim); err == nil {
		t.Fatal("a job is inserted twice")
	}
	if left, err := s.List(t.Context(), job.Filter{Limit: 9}); err != nil || len(left) != 1 || left[0].State != job.Queued {
		t.Fatalf("after an error there are %d jobs, %v", len(left), err)
	}
	ids, got, err := s.InsertAndClaim(t.Context(), jobs[1:], claim)
	if err != nil || !slices.Equal(ids, []job.ID{jobs[1].ID, jobs[2].ID}) {
		t.Fatalf("inserted %v, %v", ids, err)
	}
	if len(got.Jobs) != 2 || got.Jobs[0].ID != jobs[0].ID || got.Jobs[1].State != job.Running || got.Jobs[1].Attempt != 1 {
		t.Fatalf("claimed %+v", got.Jobs)
	}
	for _, j := range got.Jobs {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), claim.Session, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
		t.Errorf("settling lost %v, %v", lost, err)
	}
}
