package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// List returns jobs by ID, newest first.
func (s *Store) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	if f.Limit <= 0 {
		return nil, fmt.Errorf("list jobs: a limit of %d", f.Limit)
	}
	var jobs []*job.Job
	err := s.read(ctx, "list jobs", func(t *txn) error {
		ids, err := t.findIDs(f)
		if err != nil {
			return err
		}
		jobs, err = t.readListed(ids)
		return err
	})
	return jobs, err
}

var listRead = repeated("list_read")

func (t *txn) readListed(ids [][]byte) ([]*job.Job, error) {
	jobs := make([]*job.Job, 0, len(ids))
	return jobs, listRead.chunks(len(ids), func(sql string, from, size int) error {
		args := make([]any, size)
		for i, id := range ids[from : from+size] {
			args[i] = id
		}
		found, err := t.readJobs((*txn).scanJob, sql, args...)
		for _, j := range found {
			jobs = append(jobs, j.Job)
		}
		return err
	})
}

// findIDs returns the IDs of the matching jobs, newest first, by the search that is likely to cost the least.
func (t *txn) findIDs(f job.Filter) ([][]byte, error) {
	q, err := t.newSearch(f)
	if err != nil {
		return nil, err
	}
	switch {
	case f.IDs != nil:
		hexes := make([]string, len(f.IDs))
		for i, id := range f.IDs {
			hexes[i] = hex.EncodeToString(id[:])
		}
		return q.find("list_ids", jsonOf(hexes), f.UniqueKey)
	case f.UniqueKey != "":
		return q.find("list_key", f.UniqueKey)
	case f.MetaID() != "":
		return q.find("list_meta_id", f.Meta[job.MetaID])
	}
	return q.findByState()
}

// A search has a filter as the arguments of the SQL that is called $filter.
type search struct {
	*txn
	mask    int64 // the numbers of the classes as JSON, or nil for all
	classes any   // the lowest and the highest number of these classes
	between []any // the lowest and the highest of them
	most    bool  // more than half of the queues have one of the classes
	args    []any
	limit   int
	plain   bool // the filter has only classes, states and IDs
}

// The indexes in args of the ID that all results are below, and of the limit.
const (
	argBelow = 4
	argLimit = 9
)

func (q *search) below() []byte { return q.args[argBelow].([]byte) }

// The bits of the views in a mask; the bits of the states are their numbers.
const (
	bitScheduled = 5
	bitRetrying  = 6
)

const (
	allStates     = 1<<len(states) - 1
	waitingStates = 1<<queued | 1<<bitScheduled | 1<<bitRetrying
)

func (t *txn) newSearch(f job.Filter) (*search, error) {
	q := &search{txn: t, limit: f.Limit, most: true, between: []any{int64(0), int64(math.MaxInt64)}}
	for _, s := range f.States {
		switch s {
		case job.Scheduled:
			q.mask |= 1 << bitScheduled
		case job.Retrying:
			q.mask |= 1 << bitRetrying
		default:
			if n, err := stateNumber(s); err == nil { // no job is in any other state
				q.mask |= 1 << n
			}
		}
	}
	if len(f.States) == 0 {
		q.mask = allStates
	}
	if len(f.Kinds) > 0 || len(f.Queues) > 0 {
		numbers, queues := []int64{}, map[int64]bool{}
		err := t.each(statement("list_classes"), []any{jsonOf(f.Kinds), jsonOf(f.Queues)}, func(v []driver.Value) error {
			numbers = append(numbers, integer(v[0]))
			queues[integer(v[1])] = true
			q.most = int64(len(queues))*2 > integer(v[2])
			return nil
		})
		if err != nil {
			return nil, err
		}
		q.classes = "[]"
		if len(numbers) > 0 {
			q.classes, q.between = jsonOf(numbers), []any{slices.Min(numbers), slices.Max(numbers)}
		}
	}
	upper, lower := bytes.Repeat([]byte{0xff}, 17), []byte{}
	if f.Before != (job.ID{}) {
		upper = f.Before[:]
	}
	if !f.CreatedBefore.IsZero() {
		if bound := firstID(f.CreatedBefore); bytes.Compare(bound, upper) < 0 {
			upper = bound
		}
	}
	if !f.CreatedAfter.IsZero() {
		lower = firstID(f.CreatedAfter)
	}
	hint := findArgsHint(f.Args)
	q.args = []any{
		q.mask, t.now, q.classes, orNull(f.Worker), upper, lower, micros(f.FinishedBefore), orNull(errorHint(f.Error)),
		orNull(hint.value), int64(f.Limit), jsonOf(f.MetaTexts()), orNull(hint.raw), hint.quoted,
	}
	q.plain = f.Worker+f.Error == "" && len(f.Args)+len(f.Meta) == 0 && f.FinishedBefore.IsZero()
	return q, nil
}

// jsonOf returns an argument for json_each, nil for an empty list.
func jsonOf[T any](values []T) any {
	if len(values) == 0 {
		return nil
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // values are strings or numbers
	}
	return string(text)
}

// firstID returns an ID below all IDs made at t or later, and above those made before, at the resolution of IDs, which is a
// millisecond.
func firstID(t time.Time) []byte {
	milli := t.UnixMilli()
	if time.UnixMilli(milli).Before(t) {
		milli++
	}
	milli = max(milli, 0)
	return []byte{byte(milli >> 40), byte(milli >> 32), byte(milli >> 24), byte(milli >> 16), byte(milli >> 8), byte(milli)}
}

func (q *search) find(name string, more ...any) ([][]byte, error) {
	var ids [][]byte
	err := q.each(statement(name), slices.Concat(q.args, more), func(v []driver.Value) error {
		id, _ := v[0].([]byte)
		ids = append(ids, id)
		return nil
	})
	return ids, err
}
