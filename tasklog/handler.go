package tasklog

import (
	"context"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Handler returns a handler that passes records on to h and adds to each record that was logged with the ctx of a task, or
// with one derived from it, the path of the task, as the attribute "task", and the task's attributes ([Attrs]). They stay
// outside of the groups that the logger is in. Other records are passed on unchanged.
//
//	slog.SetDefault(slog.New(tasklog.Handler(slog.NewJSONHandler(os.Stderr, nil))))
//	…
//	slog.InfoContext(ctx, "index written")
//
// The cost is that of building the path. A record of a logger with groups costs more: the groups, and the attributes in
// them, are passed to h again for each record.
func Handler(h slog.Handler) slog.Handler { return &logHandler{top: h, h: h} }

type logHandler struct {
	top   slog.Handler                    // the handler before the first group
	inner func(slog.Handler) slog.Handler // adds the groups, and the attributes in them, to a handler; nil without a group
	h     slog.Handler                    // top with inner
}

func (l *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return l.h.Enabled(ctx, level)
}

func (l *logHandler) Handle(ctx context.Context, r slog.Record) error {
	n := scope.From(ctx)
	if n == nil {
		return l.h.Handle(ctx, r)
	}
	task := slog.String("task", n.Path())
	if l.inner != nil {
		return l.inner(l.top.WithAttrs(append([]slog.Attr{task}, n.Attributes()...))).Handle(ctx, r)
	}
	r = r.Clone()
	r.AddAttrs(task)
	r.AddAttrs(n.Attributes()...)
	return l.h.Handle(ctx, r)
}

func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return l
	}
	add := func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) }
	if l.inner == nil {
		return Handler(add(l.h))
	}
	return l.nest(add)
}

func (l *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return l
	}
	return l.nest(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

// nest adds a group, or attributes in a group.
func (l *logHandler) nest(add func(slog.Handler) slog.Handler) slog.Handler {
	outer := l.inner
	inner := add
	if outer != nil {
		inner = func(h slog.Handler) slog.Handler { return add(outer(h)) }
	}
	return &logHandler{top: l.top, inner: inner, h: add(l.h)}
}
