package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// columns are whole jobs by column, in the order of the tables, with the delay and the options after them.
func columns(jobs []*job.Job) []any {
	n := len(jobs)
	ids, runAt, delays := make([][16]byte, n), make([]*time.Time, n), make([]*pgtype.Interval, n)
	created, started, holds := make([]time.Time, n), make([]*time.Time, n), make([]*pgtype.Interval, n)
	priority, attempt, spared := make([]int16, n), make([]int32, n), make([]int32, n)
	died, maxAttempts := make([]int32, n), make([]int32, n)
	queues, kinds, args := make([]string, n), make([]string, n), make([]string, n)
	workers, keys, details, options := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	for i, j := range jobs {
		ids[i], created[i], started[i] = j.ID, j.Created, instant(j.Started)
		runAt[i], delays[i] = due(j)
		if j.UniqueFor > 0 {
			holds[i] = interval(j.UniqueFor)
		}
		priority[i], attempt[i], spared[i] = int16(j.Priority), int32(j.Attempt), int32(j.Spared)
		died[i], maxAttempts[i] = int32(j.Died), int32(j.MaxAttempts)
		queues[i], kinds[i], args[i] = j.Queue, j.Kind, string(j.Args)
		workers[i], keys[i], details[i] = text(j.Worker), text(j.UniqueKey), detailText(j)
		options[i] = text(string(j.EncodeOptions()))
	}
	return []any{
		ids, runAt, created, started, holds, priority, attempt, spared, died, maxAttempts, queues, kinds, workers, keys, args,
		details, delays, options,
	}
}

// finishedColumns are columns, and when the jobs finished and their states.
func finishedColumns(jobs []*job.Job) []any {
	finished, states := make([]*time.Time, len(jobs)), make([]string, len(jobs))
	for i, j := range jobs {
		finished[i], states[i] = instant(j.Finished), string(j.State)
	}
	return append(columns(jobs), finished, states)
}

func cancelArgs(jobs []*job.Job) []any {
	ids, cancel := make([][16]byte, len(jobs)), make([]bool, len(jobs))
	for i, j := range jobs {
		ids[i], cancel[i] = j.ID, j.CancelRequested
	}
	return []any{ids, cancel}
}

// freedArgs are the keys of jobs that have finished, and until when UniqueFor holds them.
func freedArgs(jobs []*job.Job) []any {
	keys, ids, until := make([]string, len(jobs)), make([][16]byte, len(jobs)), make([]*time.Time, len(jobs))
	for i, j := range jobs {
		keys[i], ids[i] = j.UniqueKey, j.ID
		if j.UniqueFor > 0 {
			t := j.Created.Add(j.UniqueFor)
			until[i] = &t
		}
	}
	return []any{keys, ids, until}
}
