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

// TestShardsKeepOrder: the records of one goroutine stay in order, whichever shards they are added to, also among records of another service
// and when records are collected in between.
func TestShardsKeepOrder(t *testing.T) {
	h := newIdleHandler(t)
	s := h.sender
	const records = 5000
	for n := range records {
		s.usual.Put(&s.shards[rand.IntN(shardCount)]) // the shard of the next record
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
		t.Errorf("%d records were added, want %d", stats.Added, records)
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

// TestCloseRacesWithRecords: a record that is logged during Close is accepted or refused, never lost in between.
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
			t.Errorf("%d records were accepted after the last collection, so that they are never sent", left)
		}
		h.sender.mu.Unlock()
		if got := int64(len(h.records(t))); got != taken.Load() {
			t.Errorf("%d records are in memory, want the %d that were accepted", got, taken.Load())
		}
		if stats := h.sender.Stats(); stats.Added != taken.Load() || stats.Dropped != refused.Load() {
			t.Errorf("got %+v, want %d added and %d dropped", stats, taken.Load(), refused.Load())
		}
	}
}

// TestShardsAreClosed: after Close every shard refuses records. They would stay in memory, since the sender no longer sends.
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
