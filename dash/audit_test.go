package dash_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAudit: each action is in the audit log with its actor, and in the log of the program; refused actions are in neither.
func TestAudit(t *testing.T) {
	s := memory.New()
	jobs := enqueue(t, s, "mail", `{"password":"hunter2"}`, 3)
	tick(t, s, "nightly", time.Hour)
	renew(t, s, "w", func(r *job.Renewal) { r.Info.Crons = []string{"nightly"} })
	var log bytes.Buffer
	h := dash.New(dash.Config{
		Store: s, Actor: func(*http.Request) string { return "ann" }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	post(t, h, "/jobs/action", "action", "cancel", "all", "1", "kind", "mail")
	post(t, h, "/jobs/action", "action", "priority", "argument", "none", "id", jobs[0].ID.String())
	post(t, h, "/jobs/action", "action", "delete", "id", jobs[0].ID.String())
	post(t, h, "/queues", "action", "pause", "queue", "nothing")
	enqueue(t, s, "mail", `{}`, 1)
	post(t, h, "/queues", "action", "pause", "queue", "default")
	post(t, h, "/crons", "action", "pause", "cron", "nightly")
	post(t, h, "/workers", "action", "quiet", "worker", "w")
	post(t, h, "/workers", "action", "quiet", "worker", "none")

	entries, err := s.Audited(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s by %s: %s, %s: %d", e.Actor, e.Via, e.Action, e.Target, e.Changed))
	}
	want := []string{
		"ann by dashboard: quiet worker, w: 1",
		"ann by dashboard: pause cron, nightly: 1",
		"ann by dashboard: pause queue, default: 1",
		"ann by dashboard: delete, id=" + jobs[0].ID.String() + ": 1",
		"ann by dashboard: cancel, kind=mail: 3",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := strings.Count(log.String(), "msg=audit"); n != len(want) {
		t.Errorf("the log has %d entries, want %d: %s", n, len(want), &log)
	}
	has(t, get(t, h, "/audit"), http.StatusOK, "ann", "pause queue", "kind=mail", "not Older")
}

// TestAuditPages: the audit log is paged, and viewers do not see the texts of errors.
func TestAuditPages(t *testing.T) {
	s := memory.New()
	for i := range 60 {
		e := job.AuditEntry{Action: fmt.Sprintf("action-%d.", i), Error: "disk of db.internal is full"}
		if err := s.Audit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/audit"), http.StatusOK, "action-59.", "action-10.", "not action-9.", `href="/audit?before=11"`, "db.internal")
	has(t, get(t, h, "/audit?before=11"), http.StatusOK, "action-9.", "action-0.", "not action-10.", "not Older", "Newest")
	has(t, get(t, h, "/audit?before=x"), http.StatusBadRequest, "is not the number of an entry")
	h = dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, h, "/audit"), http.StatusOK, "failed", "not db.internal")
}
