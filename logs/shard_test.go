package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func newIdleHandler(t *testing.T) *Handler {
	t.Helper()
	h, err := NewHandler("tcp://127.0.0.1:1", &HandlerOptions{SenderOptions: SenderOptions{Spool: SpoolOff, OnError: func(error) {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(ctx)
	})
	return h
}

// The records of one goroutine stay in its order, whichever shards they go through, also those of another service and those that are
// collected in between.
func TestShardsKeepOrder(t *testing.T) {
	h := newIdleHandler(t)
	s := h.sender
	const records = 5000
	for n := range records {
		s.usual.Put(&s.shards[rand.IntN(shardCount)]) // what the next one gets
		switch v := (&View{Message: fmt.Append(nil, n)}); rand.IntN(100) {
		case 0:
			v.Service = []byte("other")
			if err := s.Add(v); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := s.Send(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		case 2:
			_ = s.Stats()
			fallthrough
		default:
			if err := h.Handle(t.Context(), slog.NewRecord(time.Now(), slog.LevelInfo, fmt.Sprint(n), 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stats := s.Stats(); stats.Added != records {
		t.Errorf("%d records were taken, want %d", stats.Added, records)
	}
	got := h.records(t)
	if len(got) != records {
		t.Fatalf("%d records are in memory, want %d", len(got), records)
	}
	memory := 0
	for n, r := range got {
		if r.Message != fmt.Sprint(n) {
			t.Fatalf("record %d is %q", n, r.Message)
		}
		v := r.View()
		memory += len(v.Append(nil))
	}
	if stats := s.Stats(); stats.Memory != memory {
		t.Errorf("%d bytes count as memory, want %d", stats.Memory, memory)
	}
}

// A record that is logged while the handler is closed is accepted or refused, and never lost.
func TestCloseRacesWithRecords(t *testing.T) {
	for range testenv.Rounds(2, 20) {
		h := newIdleHandler(t)
		var taken, refused atomic.Int64
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				for refused.Load() < 100 {
					if err := h.Handle(context.Background(), slog.NewRecord(time.Now(), slog.LevelInfo, "m", 0)); err == nil {
						taken.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(ctx)
		calls.Wait()
		h.sender.mu.Lock() // before h.records collects
		if left := h.sender.tickets.Load() - h.sender.collected; left > 0 {
			t.Errorf("%d records were taken after the last collection, and are never sent", left)
		}
		h.sender.mu.Unlock()
		if got := int64(len(h.records(t))); got != taken.Load() {
			t.Errorf("%d records are in memory, want the %d that were taken", got, taken.Load())
		}
		if stats := h.sender.Stats(); stats.Added != taken.Load() || stats.Dropped != refused.Load() {
			t.Errorf("got %+v, want %d taken and %d dropped", stats, taken.Load(), refused.Load())
		}
	}
}

// A record that is logged after Close is refused by every shard, since the sender no longer sends: it would stay in memory and never
// arrive.
func TestShardsAreClosed(t *testing.T) {
	h := newIdleHandler(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Close(ctx)
	const calls = 8 * shardCount
	for n := range calls {
		h.sender.usual.Put(&h.sender.shards[n%shardCount])
		if err := h.Handle(t.Context(), slog.NewRecord(time.Now(), slog.LevelInfo, "m", 0)); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want %v", err, ErrClosed)
		}
	}
	if stats := h.sender.Stats(); stats.Added != 0 || stats.Dropped != calls {
		t.Errorf("got %+v, want none added and %d dropped", stats, calls)
	}
}
