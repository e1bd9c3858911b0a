package memory

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Audit appends entries to the audit log.
func (s *Store) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	now, err := s.enter(ctx, "write to the audit log")
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, e := range entries {
		s.audited++
		if e.N = s.audited; e.Time.IsZero() {
			e.Time = now
		}
		e.Time = e.Time.Round(0).UTC()
		s.audit = append(s.audit, e)
	}
	if more := len(s.audit) - job.MostAudited; more > 0 {
		s.audit = slices.Delete(s.audit, 0, more)
	}
	return nil
}

// Audited returns the newest entries below a number.
func (s *Store) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	if _, err := s.enter(ctx, "read the audit log"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []job.AuditEntry
	for _, e := range slices.Backward(s.audit) {
		if len(found) >= limit {
			break
		}
		if before == 0 || e.N < before {
			found = append(found, e)
		}
	}
	return found, nil
}

func (s *Store) pruneAudit(now time.Time) {
	s.audit = slices.DeleteFunc(s.audit, func(e job.AuditEntry) bool { return now.Sub(e.Time) > job.AuditKept })
}
