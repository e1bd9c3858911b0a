package job

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// The most bytes that are kept of a text of a record, and of all records of a job.
const (
	maxRecordText = 1 << 10
	maxRecords    = 64 << 10
)

// LogHandler returns a handler that passes records on to h. It also attaches records that are logged with the ctx of a job to that job, where
// everybody who views it sees them: the newest MaxRecords of them, at most 64 KiB, each text cut at 1 KiB. Records of a level that h is not enabled
// for are left out. The attributes job.id, job.kind, job.queue and job.attempt, which identify the job elsewhere, are those of its task, which
// [tasklog.Handler] adds.
//
//	slog.SetDefault(slog.New(job.LogHandler(tasklog.Handler(slog.NewJSONHandler(os.Stderr, nil)))))
func LogHandler(h slog.Handler) slog.Handler {
	text := &attrText{}
	text.handler = slog.NewTextHandler(&text.buffer, &slog.HandlerOptions{Level: slog.Level(-1 << 30), ReplaceAttr: dropBuiltIn})
	return &logHandler{next: h, text: text, attrs: text.handler}
}

type logHandler struct {
	next  slog.Handler
	text  *attrText
	attrs slog.Handler // writes the attributes of a record to text
}

// attrText writes attributes as text, those of one record at a time.
type attrText struct {
	mu      sync.Mutex
	buffer  bytes.Buffer
	handler slog.Handler
}

// dropBuiltIn leaves out attributes for which a Record has its own fields.
func dropBuiltIn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	if e := executionOf(ctx); e != nil {
		e.addRecord(Record{
			Attempt: e.job.Attempt,
			Time:    record.Time,
			Level:   record.Level.String(),
			Message: cut(record.Message, maxRecordText),
			Attrs:   cut(h.text.of(h.attrs, record), maxRecordText),
		})
	}
	return h.next.Handle(ctx, record)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.next.WithAttrs(attrs), h.text, h.attrs.WithAttrs(attrs)}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.next.WithGroup(name), h.text, h.attrs.WithGroup(name)}
}

// of returns the attributes that handler has, and those of the record.
func (t *attrText) of(handler slog.Handler, record slog.Record) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buffer.Reset()
	if err := handler.Handle(context.Background(), record); err != nil {
		return ""
	}
	return strings.TrimSpace(t.buffer.String())
}

func (r *Record) size() int { return len(r.Message) + len(r.Attrs) }

// addRecord adds a record to the job, and drops the oldest if there are too many.
func (e *execution) addRecord(r Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.records = append(e.records, r)
	e.size += r.size()
	for len(e.records) > MaxRecords || e.size > maxRecords {
		e.size -= e.records[0].size()
		e.records = e.records[1:]
	}
	e.dirty = true
}
