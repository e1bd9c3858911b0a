package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// Audit appends entries to the audit log.
func (s *Store) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	times, texts := make([]*time.Time, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		encoded, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("write to the audit log: %w", err)
		}
		if texts[i] = string(encoded); !e.Time.IsZero() {
			times[i] = &entries[i].Time
		}
	}
	return s.call(ctx, "write to the audit log", func(ctx context.Context) error {
		return s.inTx(ctx, func(r pgxRunner) error {
			if _, err := r.ids(ctx, s.sql("audit_add"), times, texts); err != nil {
				return err
			}
			_, err := r.ids(ctx, s.sql("audit_bound"), int64(job.MostAudited))
			return err
		})
	})
}

// Audited returns the newest entries below the number before.
func (s *Store) Audited(ctx context.Context, before int64, limit int) (found []job.AuditEntry, err error) {
	err = s.call(ctx, "read the audit log", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("audit_list"), cmp.Or(before, math.MaxInt64), max(limit, 0))
		if err != nil {
			return err
		}
		found = nil
		var n int64
		var at time.Time
		var text string
		_, err = pgx.ForEachRow(rows, []any{&n, &at, &text}, func() error {
			var e job.AuditEntry
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				return fmt.Errorf("entry %d: %w", n, err)
			}
			e.N, e.Time = n, at.UTC()
			found = append(found, e)
			return nil
		})
		return err
	})
	return found, err
}
