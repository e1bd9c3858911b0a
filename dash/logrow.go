package dash

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Limits of a row in a list. The page of a single record shows up to mostShown.
const (
	mostMessage = 2 << 10 // bytes
	mostAttr    = 512
	mostAttrs   = 40
)

// A logRow is a record in a list, masked.
type logRow struct {
	ID      string // identifies the record
	Time    time.Time
	Clock   string
	Level   string
	Class   string // of its level
	Service string
	Message string
	Attrs   []logAttr
	More    int // attributes that are not shown
	Job     string
	Task    string

	Self, OfJob, OfTask, JobPage string // URLs; JobPage is empty if the dashboard has no page for it
}

type logAttr struct{ Key, Value string }

// hidesKey reports whether an attribute is hidden because of its key or the key of a group that contains it.
func (h *handler) hidesKey(key string) bool {
	return h.masker.Hides(key) || slices.ContainsFunc(strings.Split(key, "."), h.masker.Hides)
}

// masked returns the record with secret values hidden. It changes r.
func (h *handler) masked(r logs.Record) logs.Record {
	r.Message, r.Task = h.masker.Text(r.Message), h.masker.Text(r.Task)
	for i, a := range r.Attrs {
		if h.hidesKey(a.Key) {
			r.Attrs[i].Value = slog.StringValue(mask.Shown)
			continue
		}
		switch value := a.Value.Any().(type) {
		case string:
			r.Attrs[i].Value = slog.StringValue(h.masker.Text(value))
		case json.RawMessage:
			r.Attrs[i].Value = slog.AnyValue(h.masker.JSON(value))
		}
	}
	return r
}

// newLogRow returns the row of a masked record.
func (h *handler) newLogRow(v *view, r *logs.Record, now time.Time, whole bool) logRow {
	message, attr, attrs := mostMessage, mostAttr, mostAttrs
	if whole {
		message, attr, attrs = mostShown, mostShown, 10*mostAttrs
	}
	row := logRow{
		ID: r.Service + " " + strconv.FormatUint(r.Number, 10), Time: r.Time, Clock: clockOf(r.Time, now), Level: r.Level.String(), Class: levelOf(r.Level),
		Service: r.Service, Message: clip(visible(r.Message), message), Job: r.Job, Task: r.Task,
	}
	for i, a := range r.Attrs {
		if i == attrs {
			row.More = len(r.Attrs) - attrs
			break
		}
		row.Attrs = append(row.Attrs, logAttr{visible(a.Key), clip(visible(attrText(a.Value)), attr)})
	}
	row.Self = v.URL(logsURL("service", r.Service, "q", "number="+strconv.FormatUint(r.Number, 10)))
	if r.Task != "" {
		row.OfTask = v.URL(logsURL("q", "task="+quoteFilter(r.Task)))
	}
	if r.Job != "" {
		row.OfJob = v.URL(logsURL("q", "job="+quoteFilter(r.Job)))
		if _, err := job.ParseID(r.Job); err == nil && h.Store != nil {
			row.JobPage = v.URL("/jobs/" + r.Job)
		}
	}
	return row
}

func attrText(value slog.Value) string {
	if raw, ok := value.Any().(json.RawMessage); ok {
		return string(raw)
	}
	if value.Kind() == slog.KindTime {
		return value.Time().UTC().Format(time.RFC3339Nano)
	}
	return value.String()
}

// visible makes characters visible that a browser does not show: control characters except tabs and line breaks, and those that
// change the direction of a text.
func visible(text string) string {
	odd := func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}
	text = strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), "\uFFFD")
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if odd(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func levelOf(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// clockOf formats a time in UTC, with its day unless that is today.
func clockOf(t, now time.Time) string {
	if t, now = t.UTC(), now.UTC(); t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05")
}
