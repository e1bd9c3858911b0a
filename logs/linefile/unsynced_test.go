package linefile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/meanwhile-go/meanwhile"
)

// failSyncs makes syncs of the line file fail, the first of them after change has changed the file. It returns how many there were of all.
func (f *testFile) failSyncs(times int, change func(f *testFile)) *int {
	syncs := new(int)
	f.target.disk.Before = func(op, _ string) error {
		if op != "sync" {
			return nil
		}
		if *syncs++; *syncs == 1 && times > 0 {
			change(f)
		}
		if *syncs <= times {
			return errTest
		}
		return nil
	}
	return syncs
}

// zero replaces all behind the first line by zeros, as a file has them where its data never came to the disk.
func (f *testFile) zero() {
	f.t.Helper()
	text := f.text(f.path)
	kept := strings.IndexByte(text, '\n') + 1
	f.overwrite(text[:kept] + strings.Repeat("\x00", len(text)-kept))
}

// settled reports whether the journal needs no lines of the file any more.
func (f *testFile) settled() bool {
	f.journal.mu.Lock()
	defer f.journal.mu.Unlock()
	return f.journal.files[f.path].since == 0
}

// After a failed sync, another one counts only for lines that were written again, since the system reports the failure once and may have
// dropped the lines by then.
func TestSyncFails(t *testing.T) {
	const all = "line one\nline two\nline three\n"
	for what, test := range map[string]struct {
		change func(f *testFile)
		want   string
	}{
		"kept":    {func(*testFile) {}, all},
		"dropped": {(*testFile).zero, all},
		"cut":     {func(f *testFile) { f.truncate(f.path, len("line one\nli")) }, "line one\nli\nline two\nline three\n"},
		"more": {func(f *testFile) {
			f.zero()
			f.overwrite(f.text(f.path) + "foreign\n")
		}, "line one\n" + strings.Repeat("\x00", len("line two\nline three\n")) + "foreign\nline two\nline three\n"},
		"moved": {func(f *testFile) {
			f.zero()
			if err := os.Rename(f.path, f.path+".1"); err != nil {
				f.t.Fatal(err)
			}
		}, "line two\nline three\n"},
		"gone": {(*testFile).remove, "line two\nline three\n"},
	} {
		for _, times := range []int{1, 3} {
			t.Run(fmt.Sprint(what, times), func(t *testing.T) {
				f := newTestFile(t)
				f.policy = SyncAlways
				f.begin()
				f.write("line one\n", Received{testClient, 1})
				if err := f.target.sync(); err != nil {
					t.Fatal(err)
				}
				f.write("line two\n")
				f.write("line three\n", Received{testClient, 2})
				f.failSyncs(times, test.change)
				for range times {
					if err := f.target.sync(); !errors.Is(err, errTest) {
						t.Errorf("a sync that fails: %v", err)
					}
					if f.settled() {
						t.Error("the journal has forgotten lines that may not be on disk")
					}
				}
				if err := f.target.sync(); err != nil || !f.settled() {
					t.Errorf("a sync that succeeds: %v, settled %t", err, f.settled())
				}
				f.want("afterwards", test.want)
				f.die()
				f.begin()
				f.want("the next process", test.want)
				f.wantLast("the next process", 2)
				f.write("line four\n")
				f.want("the next process", test.want+"line four\n")
				f.die()
			})
		}
	}
}

// All lines since the last sync are written again, however many they are.
func TestSyncOfManyLinesFails(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	want := "line one\n"
	f.write(want)
	f.failSyncs(1, (*testFile).zero)
	for _, size := range []int{10, mostLines / 2, mostLines / 2, mostLines + 1, 10, mostLines} {
		lines := strings.Repeat("x", size-1) + "\n"
		f.write(lines)
		want += lines
	}
	for _, fails := range []bool{true, false} {
		if err := f.target.sync(); (err != nil) != fails {
			t.Error(err)
		}
	}
	if f.text(f.path) != want {
		t.Error("the file has other lines")
	}
	f.die()
}

// A file is not rotated before its lines are on disk.
func TestSyncBeforeRotationFails(t *testing.T) {
	f := newTestFile(t)
	f.policy, f.conf.MaxBytes = SyncAlways, 20
	f.begin()
	f.write("line one\nline two\n", Received{testClient, 2})
	f.failSyncs(1, (*testFile).zero)
	if n, err := f.target.write(t.Context(), []byte("line three\n"), []Received{{testClient, 3}}); n != 0 || !errors.Is(err, errTest) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	f.write("line three\n", Received{testClient, 3})
	f.want("the next", "line three\n")
	olds, err := rotatedFiles(f.path)
	if err != nil || len(olds) != 1 {
		t.Fatal(olds, err)
	}
	if got := f.text(olds[0]); got != "line one\nline two\n" {
		t.Errorf("the rotated file has %q", got)
	}
	f.die()
}

// Lines that did not fit into a file whose sync failed are in the journal until they are written, also if the process ends before that.
func TestEndBetweenTwoFilesWhenSyncFails(t *testing.T) {
	const lines = "line one\nline two\nline three\n"
	f := newTestFile(t)
	f.policy, f.conf.MaxBytes = SyncAlways, 20
	f.begin()
	from := []Received{{testClient, 3}}
	n, err := f.target.write(t.Context(), []byte(lines), from)
	if n != len("line one\nline two\n") || err != nil {
		t.Fatal(n, err)
	}
	f.failSyncs(1, (*testFile).zero)
	if n, err := f.target.write(t.Context(), []byte(lines)[n:], from); n != 0 || !errors.Is(err, errTest) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	if err := f.target.sync(); err != nil {
		t.Error(err)
	}
	f.die()
	f.begin()
	f.want("the next process", lines)
	f.wantLast("the next process", 3)
	f.die()
}

// Wait returns when the lines are on disk, although the first sync of them has failed.
func TestWaitWhenSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFile(t)
		f.policy = SyncAlways
		f.begin()
		syncs := f.failSyncs(1, (*testFile).zero)
		o := NewOutput("test", f.target, new(Memory), slog.New(slog.DiscardHandler))
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			o.Start(ctx)
			end, err := o.Append(ctx, []byte("line one\nline two\n"), false, Received{})
			if err != nil {
				return err
			}
			if err := o.Wait(ctx, end, true); err != nil {
				return err
			}
			f.want("acknowledged", "line one\nline two\n")
			if *syncs != 2 {
				t.Errorf("%d syncs", *syncs)
			}
			o.Close(ctx)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		f.die()
	})
}

// A file is synced before the next write when all files together keep too much.
func TestUnsyncedIsBounded(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	syncs := f.failSyncs(1, func(*testFile) {})
	memory := new(Memory)
	_ = NewOutput("test", f.target, memory, slog.New(slog.DiscardHandler))
	const line = "line one\n"
	const others = mostUnsynced - 2*int64(len(line))
	memory.unsynced.Add(others)
	for range 3 {
		f.write(line)
	}
	if kept := memory.unsynced.Load(); *syncs != 0 || kept != others+3*int64(len(line)) {
		t.Errorf("%d bytes are kept after %d syncs", kept-others, *syncs)
	}
	if n, err := f.target.write(t.Context(), []byte(line), nil); n != 0 || !errors.Is(err, errTest) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	f.write(line)
	if kept := memory.unsynced.Load(); *syncs != 2 || kept != others+int64(len(line)) {
		t.Errorf("%d bytes are kept after %d syncs", kept-others, *syncs)
	}
	if err := f.target.sync(); err != nil || memory.unsynced.Load() != others {
		t.Errorf("after a sync: %v, %d bytes are kept", err, memory.unsynced.Load()-others)
	}
	f.want("afterwards", strings.Repeat(line, 4))
	f.die()
}

// Lines that the system syncs when it likes are not kept.
func TestNothingIsKeptForNoSync(t *testing.T) {
	f := newTestFile(t)
	f.policy = SyncOS
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	if kept := f.target.unsynced.chunks; kept != nil {
		t.Errorf("%q is kept", kept)
	}
	f.die()
}
