package segment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// filled makes a store with a segment of 3 blocks and returns its directory and the segment's path.
func filled(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, _ := sabotaged(t, dir)
		s.blockBytes = 256 << 10
		for first := uint64(1); first < 10_000; first += 2500 {
			if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, first, 2500)); err != nil {
				return err
			}
		}
		s.rotateNow(t)
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		path = s.services["api"].segments[0].path
		if n := s.services["api"].segments[0].blocks; n < 2 {
			t.Errorf("%d blocks", n)
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// If any byte of a segment changes, the records that are read are right, those that are not read are counted, and later records have
// numbers of their own.
func TestDamagedSegmentLaw(t *testing.T) {
	t.Parallel()
	dir, path := filled(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := filter.Parse(`"record 7777"`)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		damaged := append([]byte(nil), data...)
		at := rapid.OneOf(rapid.IntRange(0, len(data)-1), rapid.IntRange(len(data)-2*trailerSize, len(data)-1)).Draw(rt, "at")
		if rapid.Bool().Draw(rt, "cut") {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			rt.Fatal(err)
		}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			s, err := OpenReadOnly(dir, Config{Logger: quietly})
			if err != nil {
				return err
			}
			defer s.Close()
			for i, q := range []storage.Query{{}, {Newest: true}, {Filter: filter}, {Limit: 10}} {
				records, err := meanwhile.Collect(s.Find(ctx, q))
				if err != nil {
					return err
				}
				for _, r := range records {
					if r.Message != logtest.Message(r.Number) {
						rt.Fatalf("byte %d: record %d is %q", at, r.Number, r.Message)
					}
				}
				stats, err := s.Services(ctx)
				if err != nil || len(stats) != 1 {
					return err
				}
				if i == 0 && len(records) != 10_000 && stats[0].Damaged == 0 {
					rt.Fatalf("byte %d: %d records, and no damage", at, len(records))
				}
				if stats[0].Last != 10_000 {
					rt.Fatalf("byte %d: the last number is %d", at, stats[0].Last)
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatalf("byte %d: %v", at, err)
		}
	})
}

// A journal whose records are damaged while the store is open loses those, and counts their bytes.
func TestDamagedJournal(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, _ := sabotaged(t, t.TempDir())
		for first := uint64(1); first < 30; first += 10 {
			if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, first, 10)); err != nil {
				return err
			}
		}
		if err := scratch(s.active.Path(), s.active.entries[1].off+20); err != nil {
			return err
		}
		follow := s.Follow(ctx, storage.Query{})
		check := func() {
			records, err := meanwhile.Collect(s.Read(ctx, "api", 1))
			if err != nil || len(records) != 20 || records[10].Number != 21 || records[10].Message != logtest.Message(21) {
				t.Errorf("%d records, %v", len(records), err)
			}
		}
		check()
		s.rotateNow(t)
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		check()
		stats, err := s.Services(ctx)
		if err != nil || stats[0].Damaged == 0 || stats[0].Records != 20 || stats[0].Last != 30 {
			t.Errorf("%+v, %v", stats, err)
		}
		if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 31, 1)); err != nil {
			return err
		}
		for r, err := range follow {
			if err != nil || r.Number != 31 {
				t.Errorf("record %d, %v", r.Number, err)
			}
			break
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// A journal with a damaged beginning is put aside, and later records are still newer than those in segments: retention by size deletes
// the oldest.
func TestDamagedJournalPutAside(t *testing.T) {
	dir := t.TempDir()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for n := range uint64(2) {
			s, _ := sabotaged(t, dir)
			for part := range uint64(2) {
				if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 20*n+10*part+1, 10), logtest.Batch(fmt.Sprint("other-", n), logs.Client{}, 1, 10)); err != nil {
					return err
				}
				s.rotateNow(t)
			}
			if err := s.convertAll(ctx); err != nil {
				return err
			}
			path := s.active.Path()
			if err := s.Close(); err != nil {
				return err
			}
			if err := scratch(path, 0); err != nil {
				return err
			}
			if err := os.Truncate(path, journal.HeadSize+1); err != nil {
				return err
			}
		}
		s, _ := sabotaged(t, dir)
		s.cfg.Bytes = s.active.kept
		for _, g := range append(slices.Clone(s.services["api"].segments[2:]), s.services["other-1"].segments...) {
			s.cfg.Bytes += g.onDisk()
		}
		s.prune(time.Now(), false)
		for name, want := range map[string]int{"api": 2, "other-0": 0, "other-1": 2} {
			if got := len(s.services[name].segments); got != want {
				t.Errorf("%s has %d segments, want %d", name, got, want)
			}
		}
		aside, err := filepath.Glob(filepath.Join(dir, "journal", "*.damaged"))
		if err != nil || len(aside) != 2 {
			t.Errorf("put aside: %v, %v", aside, err)
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// A damaged checkpoint loses only what nothing else knows.
func TestDamagedCheckpoint(t *testing.T) {
	dir, _ := filled(t)
	if err := os.WriteFile(filepath.Join(dir, "checkpoint"), []byte("rot"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := sabotaged(t, dir)
	if stats, err := s.Services(t.Context()); err != nil || stats[0].Records != 10_000 || stats[0].Last != 10_000 {
		t.Errorf("%+v, %v", stats, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte{1, 3, 'a', 'p', 'i', 7, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18})
	f.Fuzz(func(_ *testing.T, data []byte) {
		b := append([]byte(checkpointMagic), data...)
		sum := checksum(b)
		newStore("", Config{}).parseCheckpoint(append(b, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)))
	})
}

// scratch changes a byte of a file.
func scratch(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 1
	_, err = f.WriteAt(b, at)
	return err
}
