package sqlite

import (
	"bytes"
	"database/sql/driver"
	"slices"
)

const (
	// fewQueued is up to how many queued jobs that may match are all read. If there are more, and they are at least one in dense of
	// all jobs, the newest jobs of all are read one by one.
	fewQueued = 10_000
	dense     = 20
	// mostParts bounds how many parts of the archive are searched, one for each class and state.
	mostParts = 300
	// fewRows is how many rows of queued jobs may be read in addition to their index.
	fewRows = 1000
	// fewOfPart is how many jobs of a part are read at least.
	fewOfPart = 10
	// spareScheduled is how many jobs are read for each wanted one if about half of them may match.
	spareScheduled = 4
)

// A part is the jobs of a class in a state.
type part struct{ class, state int64 }

// findByState searches where the counts show that there are matching jobs: in the small indexes of queued jobs, of queued jobs that have
// failed before, and of running ones, and in parts of the archive. It searches among all jobs only if all are wanted: however many jobs
// match, all of them may be old.
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
	if waiting > 0 {
		found, err = q.findQueued(waiting, all)
	}
	if err == nil && held > 0 {
		var ids [][]byte
		ids, err = q.find("list_running")
		found = append(found, ids...)
	}
	if err != nil {
		return nil, err
	}
	return q.findArchive(q.newest(found), archive)
}

// wants reports whether jobs in a stored state may match.
func (q *search) wants(state int64) bool {
	return q.mask>>state&1 == 1 || state == queued && q.mask>>len(states) != 0
}

// newest sorts IDs, the newest first, and leaves out those beyond the limit.
func (q *search) newest(ids [][]byte) [][]byte {
	slices.SortFunc(ids, func(a, b []byte) int { return bytes.Compare(b, a) })
	return ids[:min(len(ids), q.limit)]
}

// findQueued finds queued jobs. waiting is how many are in the wanted classes and states, all is how many jobs the store has.
func (q *search) findQueued(waiting, all int64) ([][]byte, error) {
	switch {
	case q.mask&waitingStates == 1<<bitRetrying:
		return q.find("list_failed")
	case waiting > fewQueued && waiting*dense >= all:
		defer func(args []any) { q.args = args }(q.args)
		q.args = slices.Clone(q.args)
		q.args[0] = q.mask & waitingStates
		return q.find("list_newest")
	case q.most && waiting <= fewRows:
		// Searching the queues one by one takes a third longer if nearly all queued jobs are skipped.
	case q.plain && (q.mask>>queued&1 == 1 || q.mask>>bitRetrying&1 == 0):
		found, whole, err := q.findNewestQueued()
		if err != nil || whole {
			return found, err
		}
	}
	return q.find("list_queued", q.between...)
}

// findNewestQueued reads no more rows of jobs than may be needed. whole reports whether it found all that is wanted: there may be more, since
// for a job that is due later the indexes do not have whether it has failed before.
func (q *search) findNewestQueued() (found [][]byte, whole bool, err error) {
	most := q.limit
	if q.mask>>queued&1 == 0 {
		most *= spareScheduled
	}
	read, name := 0, "list_newest_queued"
	if q.most {
		name = "list_newest_of_most"
	}
	err = q.each(statement(name), slices.Concat(q.args, q.between, []any{int64(most)}), func(v []driver.Value) error {
		if read++; integer(v[1]) == 1 {
			id, _ := v[0].([]byte)
			found = append(found, id)
		}
		return nil
	})
	return found[:min(len(found), q.limit)], read < most || len(found) >= q.limit, err
}

// findArchive adds to the found jobs those of parts of the archive that are among the newest. It reads as many jobs of each part, along its
// index, as are likely to be among the newest, and more if all of these are.
func (q *search) findArchive(found [][]byte, parts []part) ([][]byte, error) {
	defer func(args []any) { q.args = args }(q.args)
	type stream struct {
		part
		below []byte // the part has been read down to this ID
	}
	open := make([]stream, len(parts))
	for i, p := range parts {
		open[i] = stream{p, q.below()}
	}
	for n := min(q.limit, 2*q.limit/max(len(parts), 1)+fewOfPart); len(open) > 0; n = min(4*n, q.limit) {
		var more []stream
		for _, s := range open {
			q.args = slices.Clone(q.args)
			q.args[argBelow], q.args[argLimit] = s.below, int64(n)
			ids, err := q.find("list_archive", s.class, s.state)
			if err != nil {
				return nil, err
			}
			if found = append(found, ids...); len(ids) == n {
				more = append(more, stream{s.part, ids[n-1]})
			}
		}
		found = q.newest(found)
		open = slices.DeleteFunc(more, func(s stream) bool {
			return len(found) == q.limit && bytes.Compare(s.below, found[q.limit-1]) <= 0
		})
	}
	return found, nil
}
