package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A recorder notes the statements that a session runs.
type recorder struct {
	session
	ran []string
}

func (r *recorder) each(query string, args []any, row func(v []driver.Value) error) error {
	r.ran = append(r.ran, query)
	return r.session.each(query, args, row)
}

// TestListLooksWhereTheJobsAre: a list of one state looks through the jobs in that state, also where many match and all of them are
// old; through all jobs only when all are wanted, and where more are queued than should be sorted.
func TestListLooksWhereTheJobsAre(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	insert := func(kind string, n int) (jobs []*job.Job) {
		for range n {
			j, err := job.New(kind, json.RawMessage("null"))
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		if _, err := s.Insert(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	finish := func(jobs []*job.Job, state job.State) {
		got, err := s.Claim(t.Context(), job.Claim{
			Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: len(jobs)}}, Limit: len(jobs), Lease: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range got.Jobs {
			j.State = state
		}
		if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
	}
	finish(insert("k", 50), job.Discarded)
	finish(insert("k", 50), job.Completed)
	check := func(f job.Filter, want int, statements ...string) {
		t.Helper()
		f.Limit = 200
		err := s.read(t.Context(), "list", func(tx *txn) error {
			r := &recorder{session: tx.session}
			tx.session = r
			found, err := tx.findIDs(f)
			if len(found) != want {
				t.Errorf("%+v: %d jobs, want %d", f, len(found), want)
			}
			for _, name := range []string{"list_newest", "list_queued", "list_failed", "list_running", "list_archive"} {
				if ran := slices.Contains(r.ran, statement(name)); ran != slices.Contains(statements, name) {
					t.Errorf("%+v: %s was run: %v", f, name, ran)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check(job.Filter{}, 100, "list_newest")
	check(job.Filter{States: []job.State{job.Discarded}}, 50, "list_archive")
	check(job.Filter{Kinds: []string{"k"}}, 100, "list_archive")
	insert("other", 10)
	check(job.Filter{States: []job.State{job.Queued, job.Discarded}}, 60, "list_queued", "list_archive")
	check(job.Filter{States: []job.State{job.Retrying, job.Discarded}}, 50, "list_failed", "list_archive")
	insert("k", fewQueued+1)
	check(job.Filter{States: []job.State{job.Retrying}}, 0, "list_failed")
	check(job.Filter{States: []job.State{job.Retrying, job.Scheduled}}, 0, "list_newest")
	check(job.Filter{States: []job.State{job.Queued}}, 200, "list_newest")
	check(job.Filter{Kinds: []string{"k"}, States: []job.State{job.Queued, job.Completed}}, 200, "list_newest", "list_archive")
	check(job.Filter{Kinds: []string{"other"}}, 10, "list_queued")
}
