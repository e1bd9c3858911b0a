package job

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// An AuditEntry is an entry of the audit log: an action that somebody took through the dashboard, the API or the command.
type AuditEntry struct {
	N       int64     `json:"n"`       // set by the store; the newest has the highest
	Time    time.Time `json:"time"`    // set by the store to its own time if it is zero
	Actor   string    `json:"actor"`   // who: the name of a user or a token, or an address; "" if not known
	Via     string    `json:"via"`     // through what: "dashboard", "api" or "command", for example
	Action  string    `json:"action"`  // such as "retry" or "pause queue"
	Target  string    `json:"target"`  // what it applied to: a queue, a cron, a worker, or the filter of the jobs
	Changed int64     `json:"changed"` // how many jobs, queues or others were changed
	Error   string    `json:"error,omitempty"`
}

const (
	auditText = 500             // most bytes of each text of an entry
	auditTime = 5 * time.Second // timeout for storing an entry
)

// Audit writes an action to the logger and to the audit log of the store. Call it after the action: if the store fails to store the entry, the
// action stands, and the error is logged. Long texts are cut. The entry is written even if ctx has been canceled.
func Audit(ctx context.Context, s Store, logger *slog.Logger, e AuditEntry) {
	for _, text := range []*string{&e.Actor, &e.Via, &e.Action, &e.Target, &e.Error} {
		*text = auditCut(*text)
	}
	logger = cmp.Or(logger, slog.Default())
	attrs := []any{"actor", e.Actor, "via", e.Via, "action", e.Action, "target", e.Target, "changed", e.Changed}
	if e.Error != "" {
		attrs = append(attrs, "error", e.Error)
	}
	logger.Info("audit", attrs...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	if err := s.Audit(ctx, e); err != nil {
		logger.Error("audit: the store did not keep an entry", "action", e.Action, "error", err)
	}
}

// auditCut shortens a text, and replaces what some store cannot keep: invalid UTF-8 and control characters.
func auditCut(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) <= auditText {
		return text
	}
	end := auditText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// AuditOf returns the audit entry for an action on the jobs that match a filter, without Actor and Via.
func AuditOf(f Filter, action Action, done ActionResult) AuditEntry {
	e := AuditEntry{Action: action.name, Target: f.String(), Changed: int64(done.Changed)}
	switch {
	case action.Queue != "":
		e.Action += " to queue " + action.Queue
	case action.Priority != 0:
		e.Action = "set priority " + fmt.Sprint(action.Priority)
	case action.Due && !action.RunAt.IsZero():
		e.Action += " for " + action.RunAt.UTC().Format(time.RFC3339)
	}
	return e
}

// String returns the filter as an audit log shows it, such as "kind=mail.send state=queued".
func (f Filter) String() string {
	var parts []string
	add := func(name string, values ...string) {
		if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) > 0 {
			parts = append(parts, name+"="+strings.Join(values, ","))
		}
	}
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	var ids, states []string
	for _, id := range f.IDs {
		ids = append(ids, id.String())
	}
	for _, s := range f.States {
		states = append(states, string(s))
	}
	add("id", ids...)
	add("kind", slices.Clone(f.Kinds)...)
	add("queue", slices.Clone(f.Queues)...)
	add("state", states...)
	add("worker", f.Worker)
	add("created_after", stamp(f.CreatedAfter))
	add("created_before", stamp(f.CreatedBefore))
	add("finished_before", stamp(f.FinishedBefore))
	add("unique_key", f.UniqueKey)
	for _, key := range slices.Sorted(maps.Keys(f.Meta)) {
		add("meta."+key, f.Meta[key])
	}
	for _, match := range f.Args {
		add("args."+match.Path, match.Value)
	}
	add("error", f.Error)
	if len(parts) == 0 {
		return "all jobs"
	}
	return strings.Join(parts, " ")
}
