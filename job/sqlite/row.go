package sqlite

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// The numbers of the states in the tables.
const (
	queued = iota
	running
	completed
	canceled
	discarded
)

var states = [...]job.State{queued: job.Queued, running: job.Running, completed: job.Completed, canceled: job.Canceled, discarded: job.Discarded}

func stateNumber(state job.State) (int64, error) {
	for n, s := range states {
		if s == state {
			return int64(n), nil
		}
	}
	return 0, fmt.Errorf("no job is stored in state %q", state)
}

func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

// blob returns a copy of the bytes.
func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

func idOf(v driver.Value) job.ID {
	var id job.ID
	b, _ := v.([]byte)
	copy(id[:], b)
	return id
}

// micros returns a time as it is stored. The zero time is null.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func timeOf(v driver.Value) time.Time {
	n, ok := v.(int64)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// detailOf returns a job's detail as it is stored.
func detailOf(j *job.Job) any {
	if detail := j.EncodeDetail(); detail != nil {
		return string(detail)
	}
	return nil
}

// optionsOf returns a job's options as they are stored, without the limit key, which has a column.
func optionsOf(j *job.Job) any {
	others := job.Job{ID: j.ID, Options: j.Options}
	others.LimitKey = ""
	if options := others.EncodeOptions(); options != nil {
		return string(options)
	}
	return nil
}

// due returns when a job that is being written becomes due.
func (t *txn) due(j *job.Job) int64 {
	if j.RunAt.IsZero() {
		return t.now + j.Delay.Microseconds()
	}
	return j.RunAt.UnixMicro()
}

// A stored job is a row of the table.
type stored struct {
	*job.Job
	seq, class int64
}

// scanJob reads the columns that the SQL calls $job.
func (t *txn) scanJob(v []driver.Value) (stored, error) {
	name, err := t.className(integer(v[2]))
	if err != nil {
		return stored{}, err
	}
	j := &job.Job{
		ID: idOf(v[1]), Kind: name.kind, Queue: name.queue, Args: []byte(text(v[17])),
		State: states[integer(v[3])], Priority: int(integer(v[4])), RunAt: timeOf(v[5]), Attempt: int(integer(v[6])),
		Uncounted: int(integer(v[7])), Crashed: int(integer(v[8])), MaxAttempts: int(integer(v[9])), Created: timeOf(v[10]),
		Started: timeOf(v[11]), Finished: timeOf(v[12]), Worker: text(v[13]), CancelRequested: integer(v[14]) == 1 && integer(v[3]) == running,
		UniqueKey: text(v[15]), UniqueFor: time.Duration(integer(v[16])) * time.Microsecond,
	}
	if detail := text(v[18]); detail != "" {
		if err := j.DecodeDetail([]byte(detail)); err != nil {
			return stored{}, fmt.Errorf("detail of job %v: %w", j.ID, err)
		}
	}
	if err := j.DecodeOptions([]byte(text(v[19]))); err != nil {
		return stored{}, fmt.Errorf("options of job %v: %w", j.ID, err)
	}
	j.LimitKey = text(v[20])
	return stored{j, integer(v[0]), integer(v[2])}, nil
}

// A scanner reads a job from the columns of a query.
type scanner = func(t *txn, v []driver.Value) (stored, error)

// readJobs reads the rows of a query.
func (t *txn) readJobs(scan scanner, query string, args ...any) ([]stored, error) {
	var found []stored
	err := t.each(query, args, func(v []driver.Value) error {
		j, err := scan(t, v)
		if err == nil {
			found = append(found, j)
		}
		return err
	})
	return found, err
}
