package sqlite

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

func (r *recorder) exec(query string, args ...any) (int64, error) {
	r.ran = append(r.ran, query)
	return r.session.exec(query, args...)
}

// TestApplyReadsNoJobs: an action is applied to dozens of jobs at once, without reading their args.
func TestApplyReadsNoJobs(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var jobs []*job.Job
	for range 1000 {
		j, err := job.New("k", json.RawMessage("null"))
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
	for _, action := range []job.Action{job.ActionPriority(7), job.ActionMove("other"), job.ActionCancel, job.ActionRetry, job.ActionDiscard, job.ActionDelete} {
		err := s.write(t.Context(), "test", func(tx *txn) error {
			r := &recorder{session: tx.session}
			tx.session = r
			done, err := tx.apply(job.Filter{Limit: 1000}, action)
			if done.Changed != 1000 {
				t.Errorf("%s: %+v", action, done)
			}
			if len(r.ran) > 100 {
				t.Errorf("%s of 1,000 jobs took %d statements, want at most 100", action, len(r.ran))
			}
			for _, sql := range r.ran {
				if strings.Contains(sql, ", args") {
					t.Errorf("%s reads args: %s", action, sql)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
