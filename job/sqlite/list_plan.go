package sqlite

import (
	"bytes"
	"database/sql/driver"
	"slices"
)

const (
	// fewQueued is up to how many queued jobs that may match are looked through whole. Beyond, if they are at least one in dense of
	// all, the newest of all jobs are looked through one by one.
	fewQueued = 10_000
	dense     = 20
	// mostParts bounds how many parts of the archive are looked into, one for each class and state.
	mostParts = 300
)

// A part is the jobs of a class in a state.
type part struct{ class, state int64 }

// findByState looks where the counts say that there is something to find: in the small indexes of queued jobs, of those of them that have
// failed before, and of running ones, and in parts of the archive, and among all jobs only when all are wanted. However many of them match,
// those that do may all be old.
func (q *search) findByState() ([][]byte, error) {
	if q.mask == allStates && q.classes == nil {
		return q.find("list_newest")
	}
	var all, waiting, held int64
	var archive []part
	err := q.each(statement("list_counts"), []any{q.classes}, func(v []driver.Value) error {
		class, state, n := integer(v[0]), integer(v[1]), integer(v[2])
		all += n
		switch {
		case integer(v[3]) == 0 || !q.wants(state):
		case state == queued:
			waiting += n
		case state == running:
			held += n
		default:
			archive = append(archive, part{class, state})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(archive) > mostParts {
		return q.find("list_newest")
	}
	var found [][]byte
	add := func(name string, more ...any) error {
		ids, err := q.find(name, more...)
		found = append(found, ids...)
		return err
	}
	switch {
	case waiting > 0 && q.mask&waitingStates == 1<<bitRetrying:
		err = add("list_failed")
	case waiting > fewQueued && waiting*dense >= all:
		others := q.args[0]
		q.args[0] = q.mask & waitingStates
		err = add("list_newest")
		q.args[0] = others
	case waiting > 0:
		err = add("list_queued")
	}
	if err == nil && held > 0 {
		err = add("list_running")
	}
	for _, p := range archive {
		if err == nil {
			err = add("list_archive", p.class, p.state)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b []byte) int { return bytes.Compare(b, a) })
	return found[:min(len(found), q.limit)], nil
}

// wants reports whether jobs in a stored state may match.
func (q *search) wants(state int64) bool {
	return q.mask>>state&1 == 1 || state == queued && q.mask>>len(states) != 0
}
