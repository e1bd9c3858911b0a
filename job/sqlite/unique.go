package sqlite

import "github.com/meanwhile-go/meanwhile/job"

// takeKey gives a unique key to a job, unless another holds it, and returns the holder.
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

// letGoKey is called for a job that has finished: its key, if it holds it, is free, now or when UniqueFor is over.
func (t *txn) letGoKey(key string, id job.ID, until int64) error {
	var err error
	if until > t.now {
		_, err = t.exec(statement("key_hold"), key, id[:], until)
	} else {
		_, err = t.exec(statement("key_free"), key, id[:])
	}
	return err
}
