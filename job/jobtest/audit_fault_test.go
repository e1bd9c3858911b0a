package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of the audit log.
var auditFaults = []fault{
	{name: "the audit log loses who it was", noticed: []string{"an action is audited as it was"}, apply: auditAs(func(e *job.AuditEntry) { e.Actor = "" })},
	{name: "the audit log loses errors", noticed: []string{"an action is audited as it was"}, apply: auditAs(func(e *job.AuditEntry) { e.Error = "" })},
	{name: "the audit log sets times anew", noticed: []string{"prune removes old entries of the audit log"}, apply: auditAs(func(e *job.AuditEntry) {
		e.Time = time.Time{}
	})},
	{name: "the audit log is read from its beginning", noticed: []string{
		"an action is audited as it was", "the audit log is read in pages, the newest first",
	}, apply: auditedAs(func(got []job.AuditEntry) []job.AuditEntry {
		slices.Reverse(got)
		return got
	})},
	{name: "a page before a number below zero is the newest", noticed: []string{"a bound below zero is one of zero"}, apply: func(b *broken) {
		b.audited = func(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
			return b.Store.Audited(ctx, max(before, 0), limit)
		}
	}},
	{name: "the first page comes again", noticed: []string{"the audit log is read in pages, the newest first"}, apply: func(b *broken) {
		pages := 0
		b.audited = func(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
			if pages++; pages > 2 {
				return nil, nil
			}
			return b.Store.Audited(ctx, 0, limit)
		}
	}},
	{name: "the audit log has no bound", noticed: []string{"the audit log keeps so many entries"}, apply: func(b *broken) {
		b.audited = func(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
			got, err := b.Store.Audited(ctx, before, limit)
			return append(got, got[len(got)-1]), err
		}
	}},
	{name: "the audit log is kept for ever", noticed: []string{"prune removes old entries of the audit log"}, apply: func(b *broken) {
		b.prune = func(context.Context, map[job.State]time.Duration, int) (job.Pruned, error) { return job.Pruned{}, nil }
	}},
}

// auditAs alters the entries that are stored.
func auditAs(alter func(e *job.AuditEntry)) func(b *broken) {
	return func(b *broken) {
		b.audit = func(entries []job.AuditEntry) []job.AuditEntry {
			for i := range entries {
				alter(&entries[i])
			}
			return entries
		}
	}
}

// auditedAs alters the entries that are read.
func auditedAs(alter func(got []job.AuditEntry) []job.AuditEntry) func(b *broken) {
	return func(b *broken) {
		b.audited = func(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
			got, err := b.Store.Audited(ctx, before, limit)
			return alter(got), err
		}
	}
}
