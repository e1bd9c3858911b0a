package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
)

// A server does not start while another process has the journal of its line files.
func TestJournalIsLockedByAnother(t *testing.T) {
	dir := t.TempDir()
	lock, err := datafolder.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	s, err := New(Config{Journal: dir, Routes: []Route{{To: []Destination{{File: &linefile.Config{Path: filepath.Join(t.TempDir(), "a.log")}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), datafolder.ErrLocked.Error()) {
		t.Errorf("got %v, want %v", err, datafolder.ErrLocked)
	}
}

// A server closes its journal when nothing is written any more, even if that is after its grace, and ends in order if closing fails.
func TestJournalEndsLast(t *testing.T) {
	for _, fails := range []bool{false, true} {
		endsLast(t, fails)
	}
}

// A stuckHandler blocks the task that logs that an output fails, which is the task that writes to it.
type stuckHandler struct {
	slog.Handler
	stuck, release chan struct{}
}

func (h *stuckHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *stuckHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "an output fails") {
		close(h.stuck)
		<-h.release
	}
	return nil
}

func endsLast(t *testing.T, fails bool) {
	dir := t.TempDir()
	journal, file := filepath.Join(dir, "journal"), filepath.Join(dir, "a.log")
	if err := os.Mkdir(file, 0o700); err != nil { // so that it cannot be written to
		t.Fatal(err)
	}
	h := &stuckHandler{Handler: slog.DiscardHandler, stuck: make(chan struct{}), release: make(chan struct{})}
	s, err := New(Config{
		Journal: journal, Grace: 20 * time.Millisecond, Logger: slog.New(h),
		Routes: []Route{{To: []Destination{{File: &linefile.Config{Path: file}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended, kept := make(chan error, 1), make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b := &logs.Batch{Service: "a", Client: logs.NewClient(), First: 1, Last: 1}
	b.Add(&logs.View{Message: []byte("hello")})
	go func() { kept <- s.Acceptor().Append(ctx, b) }()
	<-h.stuck  // a write takes long
	if fails { // the next file of the journal cannot be begun
		if err := os.Mkdir(filepath.Join(journal, "000000000002.journal"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	<-kept
	select {
	case <-ended:
		t.Error("the server has ended while something wrote")
	case <-time.After(100 * time.Millisecond):
	}
	if lock, err := datafolder.Lock(journal); err == nil {
		t.Error("the journal is closed while something writes", lock.Close())
	}
	close(h.release)
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	lock, err := datafolder.Lock(journal)
	if err != nil {
		t.Fatal("the journal is open when the server has ended:", err)
	}
	_ = lock.Close()
}
