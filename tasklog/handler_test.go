package tasklog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/slogtest"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

// withCtx logs everything with one ctx.
type withCtx struct {
	slog.Handler
	ctx context.Context
}

func (h withCtx) Handle(_ context.Context, r slog.Record) error { return h.Handler.Handle(h.ctx, r) }

func (h withCtx) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withCtx{h.Handler.WithAttrs(attrs), h.ctx}
}

func (h withCtx) WithGroup(name string) slog.Handler {
	return withCtx{h.Handler.WithGroup(name), h.ctx}
}

func TestLogHandlerIsASlogHandler(t *testing.T) {
	_ = Run(t.Context(), func(task context.Context) error {
		for name, ctx := range map[string]context.Context{"task": task, "no task": t.Context()} {
			t.Run(name, func(t *testing.T) {
				var out bytes.Buffer
				slogtest.Run(t, func(*testing.T) slog.Handler {
					out.Reset()
					return withCtx{tasklog.Handler(slog.NewJSONHandler(&out, nil)), ctx}
				}, func(t *testing.T) map[string]any {
					var record map[string]any
					if err := json.Unmarshal(out.Bytes(), &record); err != nil {
						t.Fatalf("%v: %s", err, &out)
					}
					return record
				})
			})
		}
		return nil
	})
}

// bare is a handler that writes records without their time and level.
func bare(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
}

func TestLogHandlerAddsTheTask(t *testing.T) {
	tests := []struct {
		name string
		log  func(ctx context.Context, l *slog.Logger)
		want string
	}{
		{"plain", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(ctx, "m", "a", 1)
		}, `{"msg":"m","a":1,"task":"index/a.txt"}`},
		{"with a derived ctx", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(context.WithValue(ctx, contextKey{}, 1), "m")
		}, `{"msg":"m","task":"index/a.txt"}`},
		{"without ctx", func(_ context.Context, l *slog.Logger) {
			l.Info("m", "a", 1)
		}, `{"msg":"m","a":1}`},
		{"many attributes", func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(ctx, "m", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6)
		}, `{"msg":"m","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"task":"index/a.txt"}`},
		{"attributes of the logger", func(ctx context.Context, l *slog.Logger) {
			l.With("a", 1).With().InfoContext(ctx, "m", "b", 2)
		}, `{"msg":"m","a":1,"b":2,"task":"index/a.txt"}`},
		{"group", func(ctx context.Context, l *slog.Logger) {
			l.WithGroup("g").InfoContext(ctx, "m", "a", 1)
		}, `{"msg":"m","task":"index/a.txt","g":{"a":1}}`},
		{"groups and attributes", func(ctx context.Context, l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("").WithGroup("h").With("c", 3).InfoContext(ctx, "m", "d", 4)
		}, `{"msg":"m","a":1,"task":"index/a.txt","g":{"b":2,"h":{"c":3,"d":4}}}`},
		{"group without ctx", func(_ context.Context, l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).Info("m", "c", 3)
		}, `{"msg":"m","a":1,"g":{"b":2,"c":3}}`},
		{"two loggers of one", func(ctx context.Context, l *slog.Logger) {
			l = l.WithGroup("g").With("a", 1)
			left, right := l.With("b", 2), l.With("c", 3)
			left.InfoContext(ctx, "m")
			right.InfoContext(ctx, "m")
		}, `{"msg":"m","task":"index/a.txt","g":{"a":1,"b":2}}` + "\n" + `{"msg":"m","task":"index/a.txt","g":{"a":1,"c":3}}`},
		{"below the level", func(ctx context.Context, l *slog.Logger) {
			l.DebugContext(ctx, "m")
			l.WithGroup("g").DebugContext(ctx, "m")
		}, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(t.Context(), func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					test.log(ctx, slog.New(tasklog.Handler(bare(&out))))
					return nil
				}, Name("a.txt"))
				return nil
			}, Name("index"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(out.String(), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Other code may keep the record that the handler received.
func TestLogHandlerLeavesTheRecordAlone(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		var out bytes.Buffer
		var r slog.Record
		attrs := make([]slog.Attr, 21)
		for i := range attrs {
			attrs[i] = slog.Int(strconv.Itoa(i), i)
		}
		r.AddAttrs(attrs...) // leaves capacity for one more
		before := r
		for range 2 {
			if err := tasklog.Handler(bare(&out)).Handle(ctx, r); err != nil {
				t.Error(err)
			}
		}
		r.AddAttrs(slog.Int("more", 1))
		if err := bare(&out).Handle(ctx, before); err != nil {
			t.Error(err)
		}
		if strings.Count(out.String(), `"task"`) != 2 || strings.Contains(out.String(), "BUG") {
			t.Errorf("got\n%s", &out)
		}
		return nil
	})
}

type noHandler struct{}

func (noHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (noHandler) Handle(context.Context, slog.Record) error { return nil }
func (h noHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h noHandler) WithGroup(string) slog.Handler           { return h }

func TestLogHandlerAllocates(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		h := tasklog.Handler(noHandler{})
		var r slog.Record
		r.Add("a", 1, "b", "c")
		if got := testing.AllocsPerRun(100, func() { _ = h.Handle(t.Context(), r) }); got != 0 {
			t.Errorf("%v allocations for a record without a task, want none", got)
		}
		// The allocations are for the path, and the list of its parts.
		if got := testing.AllocsPerRun(100, func() { _ = h.Handle(ctx, r) }); got > 2 {
			t.Errorf("%v allocations for a record of a task, want no more than for the path", got)
		}
		return nil
	}, Name("index"))
}

func TestLogHandlerWithNothing(t *testing.T) {
	h := tasklog.Handler(noHandler{})
	if h.WithGroup("") != h || h.WithAttrs(nil) != h {
		t.Error("a group without a name, or no attributes, returned another handler")
	}
}
