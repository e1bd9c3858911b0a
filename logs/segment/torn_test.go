package segment_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// If a journal is cut anywhere, or changed in its last frame, the records before that are there as they were, and those after it are not;
// a client sends these again, and all are there once. If an earlier frame is changed, which was on disk when more was written, only that
// frame is lost.
func TestTornJournalLaw(t *testing.T) {
	t.Parallel()
	cfg := segment.Config{Logger: quiet}
	const calls, size = 12, 3
	client := logs.Client{7}
	whole := t.TempDir()
	ends := []int64{0}
	journal := func(dir string) string {
		names, err := filepath.Glob(filepath.Join(dir, "journal", "*.journal"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		return names[0]
	}
	opened(t, whole, cfg, func(ctx context.Context, s *segment.Store) {
		for call := range uint64(calls) {
			if err := s.Append(ctx, logtest.Batch("a", client, 2*size*call+1, size), logtest.Batch("b", client, 2*size*call+size+1, size)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(journal(whole))
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, info.Size())
		}
	})
	name := journal(whole)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		damaged := append([]byte(nil), data...)
		at := rapid.IntRange(32, len(data)-1).Draw(rt, "at")
		rot := false
		if rapid.Bool().Draw(rt, "cut") {
			damaged = damaged[:at]
			if rapid.Bool().Draw(rt, "zeros") { // as a file system may leave it
				damaged = append(damaged, make([]byte, len(data)-at)...)
			}
		} else {
			rot = true
			damaged[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		}
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "journal"), 0o700); err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "journal", filepath.Base(name)), damaged, 0o600); err != nil {
			rt.Fatal(err)
		}
		kept := 0
		for kept+1 < len(ends) && ends[kept+1] <= int64(at) {
			kept++
		}
		cfg.Sync = segment.OS // the disk is not what is tested here
		opened(t, dir, cfg, func(ctx context.Context, s *segment.Store) {
			want := uint64(2 * size * kept)
			if rot = rot && kept < calls-1; rot {
				want = 2 * size * calls
			}
			if last, err := s.Last(ctx, client); err != nil || last != want {
				rt.Fatalf("byte %d: last is %d, %v, want %d", at, last, err, want)
			}
			for call := range uint64(calls) {
				if err := s.Append(ctx, logtest.Batch("a", client, 2*size*call+1, size), logtest.Batch("b", client, 2*size*call+size+1, size)); err != nil {
					rt.Fatal(err)
				}
			}
		})
		opened(t, dir, cfg, func(ctx context.Context, s *segment.Store) {
			for first, service := range map[uint64]string{1: "a", size + 1: "b"} {
				records, err := meanwhile.Collect(s.Read(ctx, service, 1))
				wanted := calls * size
				if rot {
					wanted -= size
				}
				if err != nil || len(records) != wanted {
					rt.Fatalf("byte %d: %d records of %s, %v", at, len(records), service, err)
				}
				for i, r := range records {
					if rot && i >= kept*size {
						i += size
					}
					if want := logtest.Message(first + uint64(i/size*2*size+i%size)); r.Message != want || r.Number != uint64(i+1) {
						rt.Fatalf("byte %d: record %d of %s is %d, %q, want %q", at, i+1, service, r.Number, r.Message, want)
					}
				}
			}
		})
	})
}

// opened calls fn with the store in a directory, and closes it.
func opened(t *testing.T, dir string, cfg segment.Config, fn func(ctx context.Context, s *segment.Store)) {
	t.Helper()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, err := segment.Open(ctx, dir, cfg)
		if err != nil {
			return err
		}
		fn(ctx, s)
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
