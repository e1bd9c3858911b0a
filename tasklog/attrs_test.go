package tasklog_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

// attrsOf returns the attributes of ctx's task, as text.
func attrsOf(ctx context.Context) string {
	var all []string
	for _, a := range tasklog.Attrs(ctx) {
		all = append(all, a.String())
	}
	return strings.Join(all, " ")
}

func TestTasksHaveTheAttrsOfThoseAbove(t *testing.T) {
	deadline, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	expect := func(want string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			if got := attrsOf(ctx); got != want {
				return fmt.Errorf("got %q, want %q", got, want)
			}
			return nil
		}
	}
	err := Run(deadline, func(ctx context.Context) error {
		Go(ctx, expect("a=1"))
		Go(ctx, expect("a=1 b=2"), Attrs(slog.Int("b", 2)))
		Go(ctx, expect("a=1 b=3 c=4"), Attrs(slog.Int("b", 3)), Attrs(slog.Int("c", 4)), Observe(func(Event) {}))
		Go(context.WithValue(ctx, contextKey{}, 1), expect("a=1"))
		derived, cancel := context.WithCancel(ctx)
		Go(derived, expect("a=1 d=5"), Attrs(slog.Int("d", 5)))
		Go(derived, func(ctx context.Context) error {
			defer cancel()
			return Shield(ctx, time.Minute, func(ctx context.Context) error {
				return Run(ctx, expect("a=1 e=6"))
			})
		}, Attrs(slog.Int("e", 6)))
		return Each(ctx, count(3), func(ctx context.Context, _ int) error {
			return expect("a=1 f=7")(ctx)
		}, Attrs(slog.Int("f", 7)))
	}, Attrs(slog.Int("a", 1)))
	if err != nil {
		t.Error(err)
	}
	if got := attrsOf(deadline); got != "" {
		t.Errorf("got %q outside of tasks", got)
	}
}

func TestLogHandlerAddsAttrs(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(tasklog.Handler(bare(&out)))
	_ = Run(t.Context(), func(ctx context.Context) error {
		log.InfoContext(ctx, "m", "a", 1)
		log.WithGroup("g").InfoContext(ctx, "m", "a", 1)
		return nil
	}, Name("index"), Attrs(slog.String("tenant", "x"), slog.Int("shard", 2)))
	want := `{"msg":"m","a":1,"task":"index","tenant":"x","shard":2}` + "\n" +
		`{"msg":"m","task":"index","tenant":"x","shard":2,"g":{"a":1}}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAppendPath(t *testing.T) {
	outside := t.Context()
	if got := string(tasklog.AppendPath(outside, []byte("x"))); got != "x" {
		t.Errorf("got %q outside of tasks", got)
	}
	name := strings.Repeat("a", 200) // longer than the initial capacity
	_ = Run(outside, func(ctx context.Context) error {
		return Each(ctx, count(1), func(ctx context.Context, _ int) error {
			return Run(ctx, func(ctx context.Context) error {
				_, err := Go(ctx, func(ctx context.Context) error {
					want := name + "/each/[0]/run/#1"
					if got := string(tasklog.AppendPath(ctx, []byte("x "))); got != "x "+want {
						t.Errorf("got %q, want %q", got, want)
					}
					if got := Tree(ctx).Path; got != want {
						t.Errorf("got %q, want %q", got, want)
					}
					return nil
				}).Wait(ctx)
				return err
			})
		})
	}, Name(name))
}

// The functions that a log handler calls for each record allocate no memory.
func TestWhatHandlersAskForAllocatesNothing(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		_, err := Go(ctx, func(ctx context.Context) error {
			ctx = context.WithValue(ctx, contextKey{}, 1)
			b := make([]byte, 0, 100)
			size := 0
			if allocs := testing.AllocsPerRun(100, func() {
				size += len(tasklog.AppendPath(ctx, b)) + len(tasklog.Attrs(ctx))
			}); allocs != 0 || size == 0 {
				t.Errorf("%v allocations for %d bytes and attributes", allocs, size)
			}
			return nil
		}, Attrs(slog.Int("b", 2))).Wait(ctx)
		return err
	}, Name("index"))
}
