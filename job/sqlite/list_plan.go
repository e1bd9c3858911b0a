package sqlite

import (
	"bytes"
	"database/sql/driver"
	"slices"
)

const (
	// dense is the share of all jobs that match by class and state, as one in so many, from which on the newest jobs are
	// looked through one by one.
	dense = 20
	// mostParts bounds how many parts of the archive are looked into, one for each class and state.
	mostParts = 300
)

// A part is the jobs of a class in a state.
type part struct{ class, state int64 }

// findByState looks where the counts say that there is something to find: among the newest jobs when many match, and
// otherwise in the small indexes of queued and running jobs and in parts of the archive.
func (q *search) findByState() ([][]byte, error) {
	var all, matching int64
	var archive []part
	some := map[int64]bool{} // states in which something matches
	err := q.each(statement("list_counts"), []any{q.classes}, func(v []driver.Value) error {
		class, state, n := integer(v[0]), integer(v[1]), integer(v[2])
		all += n
		if integer(v[3]) == 0 || !q.wants(state) {
			return nil
		}
		matching += n
		some[state] = true
		if state != queued && state != running {
			archive = append(archive, part{class, state})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if matching*dense >= all || len(archive) > mostParts {
		return q.find("list_newest")
	}
	var found [][]byte
	add := func(name string, more ...any) error {
		ids, err := q.find(name, more...)
		found = append(found, ids...)
		return err
	}
	if some[queued] {
		if err := add("list_queued"); err != nil {
			return nil, err
		}
	}
	if some[running] {
		if err := add("list_running"); err != nil {
			return nil, err
		}
	}
	for _, p := range archive {
		if err := add("list_archive", p.class, p.state); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b []byte) int { return bytes.Compare(b, a) })
	return found[:min(len(found), q.limit)], nil
}

// wants reports whether jobs in a stored state may match.
func (q *search) wants(state int64) bool {
	return q.mask>>state&1 == 1 || state == queued && q.mask>>len(states) != 0
}
