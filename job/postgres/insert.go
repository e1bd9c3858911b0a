package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Calls that insert more than this do not share a transaction, so that the memory of a transaction is bounded.
const (
	sharedJobs  = 16
	sharedBytes = 64 << 10
)

// Bounds of a shared transaction. Only one runs at a time: with two, each had half of the calls, and 16 callers enqueued a third fewer jobs.
const (
	groupedCalls = 256
	gatherTime   = time.Millisecond // at most, see group.Gather
)

// Insert stores new jobs. Calls that arrive during a transaction share the next one. Calls with unique keys share transactions of their own, so that
// only they wait while a transaction of the caller's holds one of these keys.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) (ids []job.ID, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	size := 0
	for _, j := range jobs {
		size += len(j.Args)
	}
	if len(jobs) > sharedJobs || size > sharedBytes {
		return s.insert(ctx, jobs)
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	ctx, cancel := bounded(ctx, callTimeout)
	defer cancel()
	inserts := s.inserts
	if slices.ContainsFunc(jobs, isKeyed) {
		inserts = s.keyed
	}
	done, err := inserts.Do(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	return done.ids, done.err
}

// An inserted is the result for one caller.
type inserted struct {
	ids []job.ID
	err error
}

// insert inserts jobs in a transaction of their own, and notifies workers.
func (s *Store) insert(ctx context.Context, jobs []*job.Job) (ids []job.ID, err error) {
	notifies := alike(jobs) && s.notices.withInsert()
	begun := time.Now()
	err = s.call(ctx, "insert jobs", func(ctx context.Context) error {
		if notifies {
			ids = idsOf(jobs)
			_, err := s.run().ids(ctx, s.sql("insert_notify"), append(alikeArgs(jobs), s.schema)...)
			return explainInsert(err)
		}
		if !slices.ContainsFunc(jobs, isKeyed) {
			ids, err = insertJobs(ctx, s, s.run(), jobs, true)
			return err
		}
		return s.inTx(ctx, func(r pgxRunner) error {
			ids, err = insertJobs(ctx, s, r, jobs, true)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.notices.inserted(time.Since(begun))
	if !notifies {
		s.notify(queuesOf(jobs))
	}
	s.wrote(ctx, 1)
	return ids, nil
}

// flushInserts inserts the jobs of several callers. If those of one cannot be stored, it tries each caller's alone.
func (s *Store) flushInserts(ctx context.Context, calls [][]*job.Job) ([]inserted, error) {
	ctx, cancel := bounded(ctx, callTimeout)
	defer cancel()
	done := make([]inserted, len(calls))
	ids, err := s.insert(ctx, slices.Concat(calls...))
	for i, jobs := range calls {
		switch {
		case err == nil:
			done[i].ids, ids = ids[:len(jobs):len(jobs)], ids[len(jobs):]
		case len(calls) > 1 && isOfData(err):
			done[i].ids, done[i].err = s.insert(ctx, jobs)
		default:
			done[i].err = err
		}
	}
	return done, nil
}

// isOfData reports whether an error is caused by a job: by one of its values, or because its ID exists already.
func isOfData(err error) bool {
	code := codeOf(err)
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23")
}

func hasOptions(j *job.Job) bool {
	return j.Timeout != 0 || len(j.Meta) > 0 || j.LimitKey != "" || j.Cost != 0
}

func isKeyed(j *job.Job) bool { return j.UniqueKey != "" }

func queuesOf(jobs []*job.Job) []string {
	var queues []string
	for _, j := range jobs {
		if !slices.Contains(queues, j.Queue) {
			queues = append(queues, j.Queue)
		}
	}
	return queues
}

// insertJobs inserts jobs, except those whose key is held, and returns the IDs that Insert returns. Jobs with keys need a transaction; own means that
// it is the store's own, which can be started again: see errFreed.
func insertJobs(ctx context.Context, s *Store, r runner, jobs []*job.Job, own bool) ([]job.ID, error) {
	var ids []job.ID
	mine := jobs
	meeting := false // some jobs have an option for the holder of their key
	if slices.ContainsFunc(jobs, isKeyed) {
		holders, err := takeKeys(ctx, s, r, jobs, own)
		if err != nil {
			return nil, err
		}
		ids, mine = make([]job.ID, len(jobs)), make([]*job.Job, 0, len(jobs))
		for i, j := range jobs {
			ids[i] = j.ID
			if holder, ok := holders[j.UniqueKey]; ok && holder != j.ID {
				ids[i] = holder
				meeting = meeting || j.Replace || j.UniqueWhile != nil
			} else {
				mine = append(mine, j)
			}
		}
	} else {
		ids = idsOf(jobs)
	}
	if err := insertRows(ctx, s, r, mine); err != nil || !meeting {
		return ids, err
	}
	return ids, meetHolders(ctx, s, r, jobs, ids)
}

// lockTimeout is how long outcomes, and ticks of crons, wait for a transaction of the user's that holds the unique key of a job that is inserted with
// them. It is longer than the server takes to detect a deadlock.
const lockTimeout = 3 * time.Second

// insertBriefly is insertJobs with lockTimeout, for a transaction that delays other work.
func insertBriefly(ctx context.Context, s *Store, r runner, jobs []*job.Job) ([]job.ID, error) {
	if slices.ContainsFunc(jobs, isKeyed) {
		if _, err := r.ids(ctx, s.sql("lock_timeout"), lockTimeout.Milliseconds()); err != nil {
			return nil, err
		}
	}
	ids, err := insertJobs(ctx, s, r, jobs, true)
	if codeOf(err) == codeLocked {
		err = fmt.Errorf("an open transaction has the unique key of a job to insert: %w", err)
	}
	return ids, err
}

// insertRows inserts jobs.
func insertRows(ctx context.Context, s *Store, r runner, jobs []*job.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	statement, args := "insert", insertArgs
	switch {
	case alike(jobs):
		statement, args = "insert_alike", alikeArgs
	case len(jobs) > sharedJobs && slices.ContainsFunc(jobs, func(j *job.Job) bool { return j.LimitKey != "" }):
		statement = "insert_noted"
	}
	_, err := r.ids(ctx, s.sql(statement), args(jobs)...)
	return explainInsert(err)
}

// explainInsert returns the error of an insert. If a job with the ID exists already, it says so.
func explainInsert(err error) error {
	if codeOf(err) == codeUnique {
		err = fmt.Errorf("a job with the ID exists already: %w", err)
	}
	return err
}

func compareIDs(a, b *job.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) }

func idsOf(jobs []*job.Job) []job.ID {
	ids := make([]job.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

// alike reports whether the jobs differ only in their args and are due at once. Then a statement with fewer arguments is used.
func alike(jobs []*job.Job) bool {
	first := jobs[0]
	return !slices.ContainsFunc(jobs, func(j *job.Job) bool {
		return isKeyed(j) || hasOptions(j) || !j.RunAt.IsZero() || j.Delay > 0 || j.Queue != first.Queue || j.Kind != first.Kind ||
			j.Priority != first.Priority || j.MaxAttempts != first.MaxAttempts
	})
}

// alikeArgs returns the arguments of insert_alike.sql, which expects the jobs sorted by ID.
func alikeArgs(jobs []*job.Job) []any {
	jobs = slices.SortedFunc(slices.Values(jobs), compareIDs)
	ids, args := make([][16]byte, len(jobs)), make([]string, len(jobs))
	for i, j := range jobs {
		ids[i], args[i] = j.ID, string(j.Args)
	}
	first := jobs[0]
	return []any{ids, args, first.Queue, first.Kind, int16(first.Priority), int32(first.MaxAttempts)}
}

// insertArgs returns the arguments of insert.sql.
func insertArgs(jobs []*job.Job) []any {
	n := len(jobs)
	ids, queues, kinds, args := make([][16]byte, n), make([]string, n), make([]string, n), make([]string, n)
	runAt, delays := make([]*time.Time, n), make([]*pgtype.Interval, n)
	priorities, maxAttempts := make([]int16, n), make([]int32, n)
	keys, holds, options, limitKeys := make([]*string, n), make([]*pgtype.Interval, n), make([]*string, n), make([]*string, n)
	var d deltas
	for i, j := range jobs {
		ids[i], queues[i], kinds[i], args[i] = j.ID, j.Queue, j.Kind, string(j.Args)
		priorities[i], maxAttempts[i] = int16(j.Priority), int32(j.MaxAttempts)
		runAt[i], delays[i] = due(j)
		options[i], limitKeys[i] = text(string(j.EncodeOptions())), text(j.LimitKey)
		if isKeyed(j) {
			keys[i] = &j.UniqueKey
			if j.UniqueFor > 0 {
				holds[i] = interval(j.UniqueFor)
			}
		}
		d.add(j.Queue, j.Kind, job.Queued, 1)
	}
	return append([]any{ids, queues, runAt, delays, priorities, maxAttempts, kinds, args, keys, holds, options, limitKeys}, d.args()...)
}

// due returns when a queued job is due: at a time, or after a delay; at once if both are nil.
func due(j *job.Job) (*time.Time, *pgtype.Interval) {
	switch {
	case !j.RunAt.IsZero():
		return &j.RunAt, nil
	case j.Delay > 0:
		return nil, interval(j.Delay)
	}
	return nil, nil
}

func interval(d time.Duration) *pgtype.Interval {
	return &pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}

func duration(i pgtype.Interval) time.Duration {
	const day = 24 * time.Hour
	return time.Duration(i.Microseconds)*time.Microsecond + time.Duration(i.Days)*day + time.Duration(i.Months)*30*day
}

func uuids(ids []job.ID) [][16]byte {
	plain := make([][16]byte, len(ids))
	for i, id := range ids {
		plain[i] = id
	}
	return plain
}
