package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"

	"github.com/meanwhile-go/meanwhile/job"
)

// Audit appends entries to the audit log.
func (s *Store) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	return s.write(ctx, "write to the audit log", func(t *txn) error {
		for _, e := range entries {
			encoded, err := json.Marshal(e)
			if err != nil {
				return err
			}
			at := t.now
			if !e.Time.IsZero() {
				at = e.Time.UnixMicro()
			}
			if _, err := t.exec(statement("audit_add"), at, string(encoded)); err != nil {
				return err
			}
		}
		_, err := t.exec(statement("audit_bound"), int64(job.MostAudited))
		return err
	})
}

// Audited returns the newest entries below a number.
func (s *Store) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	var found []job.AuditEntry
	err := s.read(ctx, "read the audit log", func(t *txn) error {
		args := []any{cmp.Or(before, math.MaxInt64), int64(max(limit, 0))}
		return t.each(statement("audit_list"), args, func(v []driver.Value) error {
			var e job.AuditEntry
			if err := json.Unmarshal([]byte(text(v[2])), &e); err != nil {
				return fmt.Errorf("entry %d: %w", integer(v[0]), err)
			}
			e.N, e.Time = integer(v[0]), timeOf(v[1])
			found = append(found, e)
			return nil
		})
	})
	return found, err
}
