package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A recorder records the statements that a session runs.
type recorder struct {
	session
	ran []string
}

func (r *recorder) each(query string, args []any, row func(v []driver.Value) error) error {
	r.ran = append(r.ran, query)
	return r.session.each(query, args, row)
}

// TestListLooksWhereTheJobsAre: a list of one state reads the jobs in that state, even if many match and all of them are old; it reads all jobs
// only if all are wanted, or if too many are queued to be sorted. It reads the rows of all queued jobs only for columns that their indexes do
// not have.
func TestListLooksWhereTheJobsAre(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	insert := func(kind string, n int, opts ...job.EnqueueOption) (jobs []*job.Job) {
		for range n {
			j, err := job.New(kind, json.RawMessage("null"), opts...)
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
			for _, name := range []string{"list_newest", "list_newest_queued", "list_newest_of_most", "list_queued", "list_failed", "list_running", "list_archive"} {
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
	check(job.Filter{States: []job.State{job.Queued}, Meta: map[string]string{"a": "b"}}, 0, "list_queued")
	check(job.Filter{States: []job.State{job.Scheduled}}, 0, "list_queued")
	check(job.Filter{States: []job.State{job.Retrying, job.Discarded}}, 50, "list_failed", "list_archive")
	insert("k", fewQueued+1)
	check(job.Filter{States: []job.State{job.Retrying}}, 0, "list_failed")
	check(job.Filter{States: []job.State{job.Retrying, job.Scheduled}}, 0, "list_newest")
	check(job.Filter{States: []job.State{job.Queued}}, 200, "list_newest")
	check(job.Filter{Kinds: []string{"k"}, States: []job.State{job.Queued, job.Completed}}, 200, "list_newest", "list_archive")
	check(job.Filter{Kinds: []string{"other"}}, 10, "list_queued")
	for i := range 3 {
		insert("k", 1, job.Queue(fmt.Sprint("q", i)))
	}
	check(job.Filter{Queues: []string{"q0"}}, 1, "list_newest_queued")
	insert("many", fewRows+1)
	check(job.Filter{Kinds: []string{"many"}}, 200, "list_newest_queued")
	for i := range 2 {
		insert("many", 1, job.Queue(fmt.Sprint("q", i)))
	}
	check(job.Filter{Kinds: []string{"many"}}, 200, "list_newest_of_most")
	check(job.Filter{Kinds: []string{"many"}, Meta: map[string]string{"a": "b"}}, 0, "list_queued")
}

// TestListReadsIndexes: of the queued jobs, a list reads only those of its queues; when it searches a class, it reads no more than an index
// entry of jobs of other classes.
func TestListReadsIndexes(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan := func(name string, more ...any) (steps []string) {
		err := s.read(t.Context(), "explain", func(tx *txn) error {
			q, err := tx.newSearch(job.Filter{Kinds: []string{"k"}, Limit: 50})
			if err != nil {
				return err
			}
			return tx.each("explain query plan "+statement(name), slices.Concat(q.args, more), func(v []driver.Value) error {
				steps = append(steps, text(v[3]))
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	for _, want := range []string{"SEARCH meanwhile_job USING COVERING INDEX meanwhile_job_queued (queue=?)", "SEARCH meanwhile_job USING INDEX meanwhile_job_keyed (queue=?)"} {
		if steps := plan("list_newest_queued", int64(1), int64(2), int64(50)); !slices.Contains(steps, want) {
			t.Errorf("list_newest_queued: %q is not in\n%s", want, strings.Join(steps, "\n"))
		}
	}
	if want, steps := "SCAN meanwhile_job USING COVERING INDEX meanwhile_job_queued", plan("list_queued", int64(1), int64(2)); !slices.Contains(steps, want) {
		t.Errorf("list_queued: %q is not in\n%s", want, strings.Join(steps, "\n"))
	}
	if want, steps := "SEARCH meanwhile_job USING INDEX meanwhile_job_failed (id>? AND id<?)", plan("list_failed"); !slices.Contains(steps, want) {
		t.Errorf("list_failed: %q is not in\n%s", want, strings.Join(steps, "\n"))
	}
	err = s.read(t.Context(), "read the columns", func(tx *txn) error {
		row, err := one(tx, "select count(*) from pragma_index_info('meanwhile_job_failed') where name = 'class'")
		if err == nil && integer(row[0]) != 1 {
			t.Error("the index of jobs that have failed before has no class")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListReadsPartsAsFarAsNeeded: of many parts of the archive, a list reads few jobs each, except of the one that has the
// newest.
func TestListReadsPartsAsFarAsNeeded(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const kinds, each, limit = 20, 100, 100
	var want []job.ID
	for k := range kinds {
		var jobs []*job.Job
		for range each {
			j, err := job.New("k"+string(rune('a'+k)), json.RawMessage("null"))
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		if _, err := s.Insert(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		got, err := s.Claim(t.Context(), job.Claim{
			Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: each}}, Limit: each, Lease: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		want = nil
		for _, j := range got.Jobs {
			j.State = job.Discarded
			want = append(want, j.ID)
		}
		if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
	}
	slices.SortFunc(want, func(a, b job.ID) int { return bytes.Compare(b[:], a[:]) })
	read := 0
	err = s.read(t.Context(), "list", func(tx *txn) error {
		q, err := tx.newSearch(job.Filter{States: []job.State{job.Discarded}, Limit: limit})
		if err != nil {
			return err
		}
		tx.session = &counter{tx.session, &read}
		found, err := q.findByState()
		if !slices.EqualFunc(found, want, func(id []byte, want job.ID) bool { return bytes.Equal(id, want[:]) }) {
			t.Errorf("%d jobs, which are not the newest %d", len(found), limit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read > kinds*each/2 {
		t.Errorf("%d rows were read to find %d", read, limit)
	}
}

// A counter counts the rows that statements return.
type counter struct {
	session
	rows *int
}

func (c *counter) each(query string, args []any, row func(v []driver.Value) error) error {
	return c.session.each(query, args, func(v []driver.Value) error {
		*c.rows++
		return row(v)
	})
}
