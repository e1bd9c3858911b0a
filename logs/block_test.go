package logs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// blocking returns a handler without a spool that waits up to a minute for buffer space, and fills its memory.
func blocking(t *testing.T, p *plug) (h *logs.Handler, filled int) {
	t.Helper()
	o := logs.SenderOptions{Spool: logs.SpoolOff, MemoryBytes: 4 << 10, OnError: func(error) {}}
	if p == nil {
		o = *logs.WithDial(unreachable, o)
	} else {
		o = *logs.WithDial(p.dial, o)
	}
	h, err := logs.NewHandler("tcp://nowhere", &logs.HandlerOptions{Block: time.Minute, SenderOptions: o})
	if err != nil {
		t.Fatal(err)
	}
	for s := h.Sender(); s.Add(numbered(filled+1)) == nil; {
		filled++
	}
	if stats := h.Sender().Stats(); filled == 0 || stats.Dropped != 1 {
		t.Fatalf("%d records fit into memory and %d were dropped, want some and 1", filled, stats.Dropped)
	}
	return h, filled
}

func numbered(n int) *logs.View {
	return &logs.View{Message: fmt.Appendf(nil, "message %d %s", n, strings.Repeat("x", 80))}
}

func handle(ctx context.Context, h *logs.Handler, message string) error {
	return h.Handle(ctx, slog.NewRecord(time.Now(), slog.LevelInfo, message+strings.Repeat("x", 100), 0))
}

// TestHandlerBlocks: while memory is full, a call waits until the time of the option is over or its ctx ends, and then drops its record.
func TestHandlerBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := blocking(t, nil)
		defer func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = h.Close(ctx)
		}()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		over, end := context.WithCancel(t.Context())
		end()
		for _, test := range []struct {
			name string
			ctx  context.Context
			want time.Duration
			is   error
		}{
			{"the option", t.Context(), time.Minute, logs.ErrFull},
			{"the deadline of its ctx", short, 0, context.DeadlineExceeded}, // which has passed during the first test
			{"a ctx that is canceled", over, 0, context.Canceled},
		} {
			before, began := h.Sender().Stats().Dropped, time.Now()
			err := handle(test.ctx, h, "m")
			if took := time.Since(began); took != test.want || !errors.Is(err, logs.ErrFull) || !errors.Is(err, test.is) {
				t.Errorf("%s: took %v, error %v; want %v, %v", test.name, took, err, test.want, test.is)
			}
			if dropped := h.Sender().Stats().Dropped - before; dropped != 1 {
				t.Errorf("%s: %d records are counted as dropped, want 1", test.name, dropped)
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if err := handle(soon, h, "m"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("a deadline before the option's time: took %v, error %v", time.Since(began), err)
		}
	})
}

// TestHandlerBlocksUntilThereIsRoom: waiting calls continue when there is buffer space, and their records are stored, those of each goroutine
// in order.
func TestHandlerBlocksUntilThereIsRoom(t *testing.T) {
	const goroutines, each = 4, 20
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_ = meanwhile.Supervise(ctx, func(ctx context.Context) error {
			store := logtest.NewMemory()
			p := &plug{sessions: server.NewSessions(store, server.SessionConfig{}), ctx: ctx, out: make(chan struct{})}
			h, filled := blocking(t, p)
			var calls sync.WaitGroup
			for g := range goroutines {
				calls.Go(func() {
					for n := range each {
						if err := handle(ctx, h, fmt.Sprintf("%d %d ", g, n)); err != nil {
							t.Errorf("record %d of goroutine %d: %v", n, g, err)
						}
					}
				})
			}
			time.Sleep(30 * time.Second)
			close(p.out)
			calls.Wait()
			if err := h.Close(ctx); err != nil {
				t.Error(err)
			}
			var next [goroutines]int
			for _, m := range store.Of(h.Sender().Client())[filled:] {
				var g, n int
				if _, err := fmt.Sscanf(m, "%d %d", &g, &n); err != nil || n != next[g] {
					t.Fatalf("got %q, want number %d of it", m, next[g])
				}
				next[g]++
			}
			for g, n := range next {
				if n != each {
					t.Errorf("%d records of goroutine %d are stored, want %d", n, g, each)
				}
			}
			cancel()
			return nil
		})
	})
}

// TestHandlerBlocksUntilClose: Close ends calls that wait for buffer space.
func TestHandlerBlocksUntilClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := blocking(t, nil)
		waiting := make(chan error)
		go func() { waiting <- handle(t.Context(), h, "m") }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_ = h.Close(ctx)
		if err := <-waiting; !errors.Is(err, logs.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("got %v after %v, want ErrClosed immediately", err, time.Since(began))
		}
		if stats := h.Sender().Stats(); stats.Dropped != 2 {
			t.Errorf("%d records are counted as dropped, want 2", stats.Dropped)
		}
	})
}
