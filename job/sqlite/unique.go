package sqlite

import (
	"database/sql/driver"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// takeKey gives a unique key to a job, unless another job holds the key, and returns the holder.
func (t *txn) takeKey(key string, id job.ID) (job.ID, error) {
	changed, err := t.exec(statement("key_take"), key, id[:], t.now)
	if err != nil {
		return job.ID{}, err
	}
	if changed > 0 {
		return id, nil
	}
	row, err := one(t, statement("key_holder"), key)
	if err != nil {
		return job.ID{}, err
	}
	return idOf(row[0]), nil
}

// meetHolder decides between a new job and the holder of its key, which may be one of the jobs that are about to be inserted, and
// returns which of them then has the key.
func (t *txn) meetHolder(j *job.Job, holder job.ID, fresh []*job.Job) (job.ID, error) {
	if j.UniqueWhile == nil && !j.Replace {
		return holder, nil
	}
	at := slices.IndexFunc(fresh, func(other *job.Job) bool { return other.ID == holder })
	var row []driver.Value
	state := job.Queued
	if at < 0 {
		var err error
		if row, err = one(t, statement("key_state"), holder[:]); err != nil {
			return job.ID{}, err
		}
		if state = ""; row != nil {
			state = states[integer(row[0])]
		}
	}
	switch {
	case j.UniqueWhile != nil && !slices.Contains(j.UniqueWhile, state):
		_, err := t.exec(statement("key_give"), j.UniqueKey, j.ID[:])
		return j.ID, err
	case !j.Replace || state != job.Queued:
		return holder, nil
	case at >= 0:
		replaced := *fresh[at]
		replaced.Args, replaced.RunAt, replaced.Delay = j.Args, j.RunAt, j.Delay
		fresh[at] = &replaced
		return holder, nil
	}
	name, err := t.className(integer(row[1]))
	if err != nil {
		return job.ID{}, err
	}
	t.changed[name.queue] = true
	_, err = t.exec(statement("key_replace"), holder[:], t.due(j), string(j.Args), j.ReplaceWithin.Microseconds(), t.now)
	return holder, err
}

// letGoKey is called for a job that has finished: it frees the job's key, if the job holds it, now or when UniqueFor is over.
func (t *txn) letGoKey(key string, id job.ID, until int64) error {
	var err error
	if until > t.now {
		_, err = t.exec(statement("key_hold"), key, id[:], until)
	} else {
		_, err = t.exec(statement("key_free"), key, id[:])
	}
	return err
}
