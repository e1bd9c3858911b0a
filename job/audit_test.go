package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAudit: an entry is stored and logged, with long texts cut, even if the ctx of the caller was canceled.
func TestAudit(t *testing.T) {
	s := memory.New()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	job.Audit(ctx, s, slog.New(slog.NewTextHandler(&log, nil)), job.AuditEntry{
		Actor: "ann", Via: "api", Action: "retry", Target: strings.Repeat("ä", 1000), Changed: 3, Error: "a\x00b\xff",
	})
	got, err := s.Audited(t.Context(), 0, 10)
	if err != nil || len(got) != 1 {
		t.Fatalf("audited %+v, %v", got, err)
	}
	e := got[0]
	if e.Actor != "ann" || e.Changed != 3 || len(e.Target) > 510 || !utf8.ValidString(e.Target) || e.Error != "a b�" {
		t.Errorf("audited %+v", e)
	}
	for _, want := range []string{"msg=audit", "actor=ann", "via=api", "action=retry", "changed=3"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s: %s", want, &log)
		}
	}
}

// TestAuditNotKept: if the store does not accept an entry, the log has it.
func TestAuditNotKept(t *testing.T) {
	full := errors.New("the disk is full")
	s := jobtest.Faulty(memory.New(), func(c jobtest.Call) jobtest.Fault {
		if c.Method == "Audit" {
			return jobtest.Fault{Before: full}
		}
		return jobtest.Fault{}
	})
	var log bytes.Buffer
	job.Audit(t.Context(), s, slog.New(slog.NewTextHandler(&log, nil)), job.AuditEntry{Action: "retry"})
	if !strings.Contains(log.String(), "msg=audit ") || !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("got log %s, want the entry and the error", &log)
	}
}

func TestAuditOf(t *testing.T) {
	id := job.NewID()
	at := time.Date(2026, 1, 31, 15, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		filter job.Filter
		action job.Action
		name   string
		target string
	}{
		{job.Filter{}, job.ActionRetry, "retry", "all jobs"},
		{job.Filter{IDs: []job.ID{id}}, job.ActionMove("later"), "move to queue later", "id=" + id.String()},
		{job.Filter{Kinds: []string{"a", "b"}, States: []job.State{job.Queued}, CreatedAfter: at}, job.ActionPriority(9), "set priority 9", "kind=a,b state=queued created_after=2026-01-31T15:04:00Z"},
		{job.Filter{Args: []job.ArgsMatch{{Path: "user", Value: "7"}}, Error: "no route", Meta: map[string]string{"b": "2", "a": "1"}}, job.ActionRunAt(at), "schedule for 2026-01-31T15:04:00Z", "meta.a=1 meta.b=2 args.user=7 error=no route"},
	} {
		e := job.AuditOf(c.filter, c.action, job.ActionResult{Changed: 4, Skipped: 1})
		if e.Action != c.name || e.Target != c.target || e.Changed != 4 {
			t.Errorf("got %+v, want %q of %q", e, c.name, c.target)
		}
	}
}
