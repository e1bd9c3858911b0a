package segment_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

func TestOneStoreForADirectory(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, segment.Config{Logger: quiet}, func(ctx context.Context, _ *segment.Store) {
		if _, err := segment.Open(ctx, dir, segment.Config{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("a second store: %v", err)
		}
		if _, err := segment.OpenReadOnly(dir, segment.Config{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("one for reading: %v", err)
		}
	})
	opened(t, dir, segment.Config{Logger: quiet}, func(context.Context, *segment.Store) {})
}

func TestOpenReadOnly(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, segment.Config{JournalBytes: 1000, Logger: quiet}, func(ctx context.Context, s *segment.Store) {
		for first := uint64(1); first < 100; first += 10 {
			if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, first, 10)); err != nil {
				t.Fatal(err)
			}
		}
	})
	names, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	last := names[len(names)-1]
	f, err := os.OpenFile(last, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("torn"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	before, err := os.Stat(last)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // at once
		s, err := segment.OpenReadOnly(dir, segment.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if records, err := meanwhile.Collect(s.Find(t.Context(), storage.Query{})); len(records) != 100 || err != nil {
			t.Errorf("%d records, %v", len(records), err)
		}
		if err := s.Append(t.Context(), logtest.Batch("api", logs.Client{}, 1, 1)); err == nil {
			t.Error("it can be written to")
		}
	}
	if after, err := os.Stat(last); err != nil || after.Size() != before.Size() {
		t.Errorf("the journal has changed: %v", err)
	}
}

// A store whose process was killed just after it made its first journal has no records, and none arrive.
func TestOpenReadOnlyWithoutAJournal(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, segment.Config{Logger: quiet}, func(context.Context, *segment.Store) {})
	names, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	if err != nil || len(names) != 1 || os.Truncate(names[0], 0) != nil {
		t.Fatal(names, err)
	}
	s, err := segment.OpenReadOnly(dir, segment.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Follow(ctx, storage.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if records, err := meanwhile.Collect(s.Find(t.Context(), storage.Query{})); len(records) != 0 || err != nil {
		t.Errorf("%d records, %v", len(records), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A foreign file among the folders of services does not keep the store from being opened.
func TestOpenBesideAStrangeFile(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, segment.Config{Logger: quiet}, func(context.Context, *segment.Store) {})
	strange := filepath.Join(dir, "services", "notes.txt")
	if err := os.WriteFile(strange, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened(t, dir, segment.Config{Logger: quiet}, func(ctx context.Context, s *segment.Store) {
		if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 1, 10)); err != nil {
			t.Error(err)
		}
	})
	if text, err := os.ReadFile(strange); string(text) != "mine\n" {
		t.Errorf("the file has %q afterwards: %v", text, err)
	}
}
