package sqlite

import "github.com/meanwhile-go/meanwhile/job"

// beginClaim starts the session of a claim unless it is running, or renews its lease after claims that were not answered. It reports whether the
// claim may get jobs.
func (t *txn) beginClaim(c job.Claim) (bool, error) {
	row, err := one(t, statement("session_find"), int64(c.Session))
	if err != nil || row != nil && c.Call < integer(row[1]) {
		return false, err
	}
	if row == nil || integer(row[0]) <= t.now || c.Since > 0 {
		if err := t.renewSession(c.Session, c.Worker, t.now+c.Lease.Microseconds()); err != nil {
			return false, err
		}
	}
	if c.Since > 0 {
		_, err = t.exec(statement("session_from"), int64(c.Session), c.Call)
	}
	return true, err
}

func (t *txn) renewSession(session job.Session, worker string, until int64) error {
	_, err := t.exec(statement("session_renew"), int64(session), worker, until)
	return err
}
