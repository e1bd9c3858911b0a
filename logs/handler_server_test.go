package logs_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

// TestHandlerFull fills the memory: calls do not wait, dropped records are counted, and a record reports them when there is buffer space
// again.
func TestHandlerFull(t *testing.T) {
	server := newTestServer(t)
	h, err := logs.NewHandler("tcp://"+server.address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{
		Spool: logs.SpoolOff, MemoryBytes: 64 << 10, OnError: func(error) {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(h)
	for range 2000 {
		log.Info(strings.Repeat("x", 100))
	}
	dropped := h.Sender().Stats().Dropped
	if dropped == 0 || h.Sender().Stats().Memory > 64<<10 {
		t.Errorf("got %+v, want dropped records and at most 64 KiB of memory", h.Sender().Stats())
	}
	server.start()
	flush(t, h.Sender())
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if reported, kept := server.store.Reported(); reported != dropped || kept != 2000-dropped {
		t.Errorf("%d records are stored and %d reported as dropped, want %d and %d", kept, reported, 2000-dropped, dropped)
	}
}

// TestHandlerKeepsOrder logs from many goroutines: the records of each stay in order.
func TestHandlerKeepsOrder(t *testing.T) {
	server := newTestServer(t)
	server.start()
	h, err := logs.NewHandler("tcp://"+server.address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{Spool: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	s := h.Sender()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			log := slog.New(h)
			for n := range 2000 {
				log.Info(fmt.Sprintf("%d %d", g, n))
			}
		})
	}
	wg.Wait()
	flush(t, s)
	var next [8]int
	for _, m := range server.store.Of(s.Client()) {
		var g, n int
		if _, err := fmt.Sscanf(m, "%d %d", &g, &n); err != nil || n != next[g] {
			t.Fatalf("got %q, want number %d of it", m, next[g])
		}
		next[g]++
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if next != [8]int{2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000} {
		t.Errorf("got %v", next)
	}
}

// TestHandlerExtremeLevels logs the highest and the lowest level that an int can be: the server stores both, and the records after them.
func TestHandlerExtremeLevels(t *testing.T) {
	server := newTestServer(t)
	server.start()
	h, err := logs.NewHandler("tcp://"+server.address, &logs.HandlerOptions{
		Level: slog.Level(math.MinInt), SenderOptions: logs.SenderOptions{Spool: logs.SpoolOff},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []slog.Level{math.MaxInt, math.MinInt, slog.LevelInfo} {
		slog.New(h).Log(t.Context(), level, "logged")
		if err := h.Sender().Add(&logs.View{Level: level, Message: []byte("added")}); err != nil {
			t.Error(err)
		}
	}
	flush(t, h.Sender())
	if got, want := fmt.Sprint(server.store.Of(h.Sender().Client())), "[logged added logged added logged added]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
