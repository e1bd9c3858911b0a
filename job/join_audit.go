package job

import "context"

// Audit writes entries to the store that owns the audit log.
func (j *Joined) Audit(ctx context.Context, entries ...AuditEntry) error {
	if err := j.enter(ctx, "write to the audit log"); err != nil {
		return err
	}
	return ask(ctx, j, j.ranked(auditKey)[0], 0, func(ctx context.Context, p *part) (struct{}, error) {
		return struct{}{}, p.Audit(ctx, entries...)
	}).err
}

// Audited returns entries from the store that owns the audit log.
func (j *Joined) Audited(ctx context.Context, before int64, limit int) ([]AuditEntry, error) {
	if err := j.enter(ctx, "read the audit log"); err != nil {
		return nil, err
	}
	a := ask(ctx, j, j.ranked(auditKey)[0], 0, func(ctx context.Context, p *part) ([]AuditEntry, error) { return p.Audited(ctx, before, limit) })
	return a.got, a.err
}
