package postgres_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestInsertAgainWhileItRuns inserts a running job a second time, as a caller may after an error that left open whether it was
// stored. The second one must not keep other jobs of its queue from being claimed, nor its batch from being settled.
func TestInsertAgainWhileItRuns(t *testing.T) {
	ctx, store := t.Context(), open(t, database(t, server()))
	insert := func(j *job.Job) {
		t.Helper()
		if _, err := store.Insert(ctx, j); err != nil {
			t.Fatal(err)
		}
	}
	claim := func() []*job.Job {
		t.Helper()
		got, err := store.Claim(ctx, job.Claim{
			Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 10}}, Limit: 10, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.Jobs
	}
	settle := func(jobs []*job.Job) {
		t.Helper()
		for _, j := range jobs {
			j.State = job.Completed
		}
		if lost, err := store.Settle(ctx, 1, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
			t.Fatalf("settle: lost %v, %v", lost, err)
		}
	}
	newJob := func() *job.Job {
		t.Helper()
		j, err := job.New("again", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first, second, third := newJob(), newJob(), newJob()
	insert(first)
	running := claim()
	insert(first)
	insert(second)
	if got := claim(); len(got) != 1 || got[0].ID != second.ID {
		t.Fatalf("claimed %d jobs, want the second alone", len(got))
	} else {
		settle(append(running, got...))
	}
	insert(first)
	insert(third)
	got := claim()
	settle(got)
	if j, err := job.Find(ctx, store, third.ID); err != nil || j.State != job.Completed {
		t.Errorf("the third: %v, %v", j, err)
	}
}
