package linefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A testFile is a line file with its journal, used by one process after the other.
type testFile struct {
	t       testing.TB
	dir     string
	path    string
	conf    Config
	policy  Sync
	journal *Journal
	target  *File
	said    bytes.Buffer
	size    int64 // of the newest file of the journal, when the process died
}

func newTestFile(t testing.TB) *testFile {
	f := &testFile{t: t, dir: t.TempDir(), policy: SyncInterval}
	f.path = filepath.Join(f.dir, "a.log")
	return f
}

// begin starts a process.
func (f *testFile) begin() {
	f.t.Helper()
	f.journal = NewJournal(filepath.Join(f.dir, "journal"), f.policy, func() bool { return true }, slog.New(slog.NewTextHandler(&f.said, nil)))
	if err := f.journal.open(false); err != nil {
		f.t.Fatal(err)
	}
	trusted, logger := func() bool { return true }, slog.New(slog.NewTextHandler(&f.said, nil))
	f.target = NewFile(f.path, f.path, f.policy, f.journal, trusted, logger)
	f.target.Configure(&f.conf)
}

// die ends the process as a kill does.
func (f *testFile) die() {
	_ = f.target.close()
	if f.journal.lock != nil {
		f.size = f.journal.file.Size()
		f.journal.release()
		_ = f.journal.lock.Close()
	}
}

// write writes lines of clients.
func (f *testFile) write(lines string, from ...Received) {
	f.t.Helper()
	for rest := []byte(lines); len(rest) > 0; {
		n, err := f.target.write(f.t.Context(), rest, from)
		if err != nil {
			f.t.Fatal(err)
		}
		rest = rest[n:]
	}
}

func (f *testFile) want(what, want string) {
	f.t.Helper()
	if got := f.text(f.path); got != want {
		f.t.Errorf("%s: the file has %q, want %q", what, got, want)
	}
}

func (f *testFile) text(path string) string {
	f.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

func (f *testFile) wantLast(what string, want uint64) {
	f.t.Helper()
	if got, err := f.journal.last(f.path, testClient); got != want || err != nil {
		f.t.Errorf("%s: the journal knows number %d, %v; want %d", what, got, err, want)
	}
}

// truncate changes the end of the newest file of the journal, or of another.
func (f *testFile) truncate(path string, size int) {
	f.t.Helper()
	if err := os.Truncate(path, int64(size)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *testFile) newestJournal() string {
	f.t.Helper()
	paths := f.journals()
	return paths[len(paths)-1]
}

// journals returns the files of the journal.
func (f *testFile) journals() (paths []string) {
	f.t.Helper()
	numbers, _, err := f.journal.folder.Numbers()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, n := range numbers {
		paths = append(paths, f.journal.folder.Path(n))
	}
	return paths
}

// settledSize returns the size of the entry that says that a file has its lines.
func settledSize(path string) int64 {
	const frameHead = 28
	return frameHead + int64(len((&journalEntry{kind: kindSettled, path: path}).appendTable(nil)))
}

var testClient = logs.Client{1, 2, 3}

// Lines that a kill has left torn, at any byte, are whole afterwards, and their numbers count. Lines that the journal has only in part
// are not in the file, and are sent again.
func TestJournalTorn(t *testing.T) {
	const before, lines = "other line\n", "line one\nline two\n"
	for _, policy := range []Sync{SyncAlways, SyncInterval, SyncOS} {
		for cut := range len(lines) + 1 {
			f := newTestFile(t)
			f.policy = policy
			f.begin()
			f.write(before)
			f.write(lines, Received{testClient, 2})
			f.die()
			f.truncate(f.path, len(before)+cut)
			if policy == SyncOS { // which has settled it at once
				f.truncate(f.newestJournal(), int(f.size-settledSize(f.path)))
			}
			for range 2 {
				f.begin()
				f.want(fmt.Sprintf("%s: cut to %d", policy, cut), before+lines)
				f.wantLast("afterwards", 2)
				f.die()
			}
		}
	}
	f := newTestFile(t)
	f.begin()
	f.write("line zero\n", Received{testClient, 1})
	known := int(f.journal.file.Size())
	f.write(lines, Received{testClient, 3})
	f.die()
	journal := f.newestJournal()
	whole := f.text(journal)
	for cut := known; cut < len(whole); cut++ {
		f.truncate(f.path, len("line zero\n"))
		if err := os.WriteFile(journal, []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		f.begin()
		f.want(fmt.Sprintf("journal cut to %d", cut), "line zero\n")
		f.wantLast("the entry before", 1)
		f.write(lines, Received{testClient, 3})
		f.die()
		f.begin()
		f.want("sent again", "line zero\n"+lines)
		f.wantLast("sent again", 3)
		f.die()
		for _, path := range f.journals() {
			_ = os.Remove(path)
		}
	}
}

// TestJournalForeign changes a file in other ways between two processes.
func TestJournalForeign(t *testing.T) {
	const lines = "line one\nline two\n"
	for what, test := range map[string]struct {
		change func(f *testFile)
		want   string // afterwards
		last   uint64
	}{
		"nothing":         {func(*testFile) {}, "first\n" + lines, 2},
		"more behind":     {func(f *testFile) { f.overwrite("first\n" + lines + "foreign\n") }, "first\n" + lines + "foreign\n", 2},
		"torn behind":     {func(f *testFile) { f.overwrite("first\n" + lines + "fore") }, "first\n" + lines + "fore", 2},
		"more before":     {func(f *testFile) { f.overwrite("first\nforeign\n" + lines) }, "first\nforeign\n" + lines, 2},
		"instead":         {func(f *testFile) { f.overwrite("first\nforeign line\n") }, "first\nforeign line\n" + lines, 2},
		"instead, torn":   {func(f *testFile) { f.overwrite("first\nforeign") }, "first\nforeign\n" + lines, 2},
		"behind the torn": {func(f *testFile) { f.overwrite("first\nline onforeign\n") }, "first\nline onforeign\n" + lines, 2},
		"emptied":         {func(f *testFile) { f.overwrite("") }, lines, 2},
		"shorter":         {func(f *testFile) { f.overwrite("fir") }, "fir\n" + lines, 2},
		"gone":            {func(f *testFile) { f.remove() }, "", 0},
		"another there": {func(f *testFile) {
			f.remove()
			if err := os.WriteFile(f.path+".new", []byte("new\n"), 0o600); err != nil {
				f.t.Fatal(err)
			}
			if err := os.Rename(f.path+".new", f.path); err != nil {
				f.t.Fatal(err)
			}
		}, "new\n", 0},
	} {
		t.Run(what, func(t *testing.T) {
			f := newTestFile(t)
			f.begin()
			f.write("first\n")
			f.write(lines, Received{testClient, 2})
			f.die()
			keep, err := os.Open(f.path) // so that its inode is not given to another
			if err != nil {
				t.Fatal(err)
			}
			defer keep.Close()
			test.change(f)
			f.begin()
			f.wantLast("afterwards", test.last)
			if test.want != "" {
				f.want("afterwards", test.want)
			}
			f.die()
		})
	}
}

func (f *testFile) overwrite(text string) {
	f.t.Helper()
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err != nil || file.Close() != nil {
		f.t.Fatal(err)
	}
}

func (f *testFile) remove() {
	if err := os.Remove(f.path); err != nil {
		f.t.Fatal(err)
	}
}

// A file that was moved between the kill and the next process gets the rest of its lines where it is; later lines are written to a new
// file.
func TestJournalMoved(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\nline two\n", Received{testClient, 2})
	f.die()
	f.truncate(f.path, 12)
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	f.begin()
	f.write("line three\n", Received{testClient, 3})
	if got := f.text(f.path + ".1"); got != "line one\nline two\n" {
		t.Errorf("the moved file has %q", got)
	}
	f.want("the new one", "line three\n")
	f.die()
}

// Lines that did not fit into a file before it was rotated are written to it if the process was killed before it started the next file.
func TestJournalBetweenTwoFiles(t *testing.T) {
	const lines = "line one\nline two\nline three\n"
	f := newTestFile(t)
	f.conf.MaxBytes = 20
	f.begin()
	n, err := f.target.write(t.Context(), []byte(lines), []Received{{testClient, 3}})
	if n != len("line one\nline two\n") || err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.target.write(t.Context(), []byte(lines)[n:], []Received{{testClient, 3}}); n != 0 || err != nil { // rotated
		t.Fatal(n, err)
	}
	f.die()
	f.begin()
	olds, err := rotatedFiles(f.path)
	if err != nil || len(olds) != 1 {
		t.Fatal(olds, err)
	}
	if got := f.text(olds[0]); got != lines {
		t.Errorf("the rotated file has %q", got)
	}
	f.want("the next", "")
	f.die()
}

// Lines that were on their way into a file that is gone are sent again, also if another file has the first of them.
func TestJournalGoneBetweenTwoFiles(t *testing.T) {
	f := newTestFile(t)
	f.conf.MaxBytes = 20
	f.begin()
	f.write("line zero\n", Received{testClient, 1})
	f.write("line one\nline two\n", Received{testClient, 3})
	f.die()
	f.want("the next", "line two\n")
	f.remove()
	f.begin()
	f.wantLast("afterwards", 1)
	f.die()
}

// A file may have the inode of a deleted one, and some systems report none. It gets none of the lines of the other file.
func TestJournalSameInode(t *testing.T) {
	for _, between := range []uint64{0, 1} {
		f := newTestFile(t)
		if err := os.WriteFile(f.path, []byte("line t"), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(f.path)
		if err != nil {
			t.Fatal(err)
		}
		inode := inodeOf(info)
		f.begin()
		for _, e := range []*journalEntry{
			{inode: inode, off: 100, received: []Received{{testClient, 1}}, lines: []byte("line zero\n")},
			{inode: inode + between, off: 110, received: []Received{{testClient, 3}}, lines: []byte("line one\nline two\nline three\n")},
			{inode: inode, received: []Received{{testClient, 3}}, lines: []byte("line two\nline three\n")},
		} {
			e.kind, e.path = kindLines, f.path
			if err := f.journal.add(e); err != nil {
				t.Fatal(err)
			}
		}
		f.die()
		f.begin()
		f.want("afterwards", "line two\nline three\n")
		f.wantLast("afterwards", 3)
		f.die()
	}
}

// A torn line of an unknown writer is ended before the next line is written.
func TestTornLineEnds(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\nli")
	f.die()
	f.begin()
	f.write("line two\n", Received{testClient, 1})
	f.want("afterwards", "line one\nli\nline two\n")
	f.die()
}

// Settled lines are not written again, whatever happens to the file.
func TestJournalSettled(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	if err := f.target.sync(); err != nil {
		t.Fatal(err)
	}
	f.die()
	f.overwrite("")
	f.begin()
	f.want("emptied", "")
	f.wantLast("emptied", 1)
	f.write("line two\n", Received{testClient, 2})
	if err := f.target.close(); err != nil {
		t.Fatal(err)
	}
	if err := f.journal.Close(); err != nil {
		t.Fatal(err)
	}
}

// The journal stays small, and keeps all numbers, however much is written through it.
func TestJournalIsBounded(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	// This other file is not written again.
	if err := f.journal.add(&journalEntry{kind: kindLines, path: f.path + ".other", received: []Received{{testClient, 5}}, lines: []byte("line\n")}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000)
	for n := range 40 {
		f.write(lines, Received{logs.Client{byte(n)}, 7}, Received{testClient, uint64(n + 1)})
		if n%10 == 9 {
			if err := f.target.sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	size := int64(0)
	for _, name := range testenv.FileNames(t, f.journal.folder.Dir) {
		info, err := os.Stat(filepath.Join(f.journal.folder.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 3*mostJournal {
		t.Errorf("the journal has %d bytes", size)
	}
	f.die()
	f.begin()
	f.wantLast("afterwards", 40)
	if last, err := f.journal.last(f.path, logs.Client{3}); last != 7 || err != nil {
		t.Errorf("of another client it knows %d, %v", last, err)
	}
	// Clients that were not seen for long are forgotten.
	f.journal.mu.Lock()
	known := f.journal.files[f.path].clients
	known[logs.Client{3}] = journaledClient{7, time.Now().Add(-forgetClient - time.Hour).Unix()}
	f.journal.mu.Unlock()
	f.die()
	f.begin()
	f.die()
	f.begin()
	if last, err := f.journal.last(f.path, logs.Client{3}); last != 7 || err != nil {
		t.Errorf("of a client that was never said to be silent it knows %d, %v", last, err)
	}
	f.journal.files[f.path].clients[logs.Client{3}] = journaledClient{7, time.Now().Add(-forgetClient - time.Hour).Unix()}
	if err := f.journal.Close(); err != nil {
		t.Fatal(err)
	}
	f.begin()
	if last, err := f.journal.last(f.path, logs.Client{3}); last != 0 || err != nil {
		t.Errorf("of a client silent for long it knows %d, %v", last, err)
	}
	f.die()
}

// The numbers of very many clients are larger than a file of the journal otherwise gets, and are not written again for each entry.
func TestJournalOfVeryManyClients(t *testing.T) {
	testenv.LongTest(t)
	f := newTestFile(t)
	f.policy = SyncOS
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	known := f.journal.files[f.path].clients
	for n := range uint32(mostJournal / 16) {
		var c logs.Client
		binary.LittleEndian.PutUint32(c[:], n)
		known[c] = journaledClient{1, time.Now().Unix()}
	}
	f.journal.mu.Lock()
	err := f.journal.nextFile()
	f.journal.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	number := f.journal.number
	f.write("line two\n", Received{testClient, 2})
	if f.journal.number != number {
		t.Errorf("%d files were begun for an entry", f.journal.number-number)
	}
	f.die()
	f.begin()
	f.wantLast("afterwards", 2)
	f.die()
}

var errTest = errors.New("the disk fails")

// failing returns a function that makes some operations of a disk fail.
func failing(steps ...string) func(op, path string) error {
	return func(op, _ string) error {
		if slices.Contains(steps, op) {
			return errTest
		}
		return nil
	}
}

// Lines wait while the journal cannot be written; when it can be again, they are there once.
func TestJournalFails(t *testing.T) {
	f := newTestFile(t)
	f.policy = SyncAlways
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	for _, steps := range [][]string{{"write"}, {"sync"}, {"write", "truncate"}, {"sync", "truncate"}} {
		f.journal.disk.Before = failing(steps...)
		for range 2 {
			if n, err := f.target.write(t.Context(), []byte("line two\n"), []Received{{testClient, 2}}); n != 0 || !errors.Is(err, errTest) {
				t.Fatalf("%s fails: %d bytes were written, %v", steps, n, err)
			}
		}
		f.want("held up", "line one\n")
		f.wantLast("held up", 1)
	}
	f.journal.disk.Before = nil
	f.write("line two\n", Received{testClient, 2})
	f.want("afterwards", "line one\nline two\n")
	f.die()
	f.truncate(f.path, len("line one\nli"))
	f.begin()
	f.want("killed", "line one\nline two\n")
	f.wantLast("killed", 2)
	f.die()
}

// After a failed sync, another sync of the same file does not count, since it may succeed without the data.
func TestJournalSyncFails(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	j := f.journal
	number := j.number
	j.disk.Before = failing("sync")
	for range 2 {
		if err := f.target.sync(); !errors.Is(err, errTest) {
			t.Errorf("a sync that fails: %v", err)
		}
	}
	j.disk.Before = nil
	if err := j.sync(); err != nil || j.number != number+1 {
		t.Errorf("file %d of the journal after %d, %v", j.number, number, err)
	}
	f.write("line two\n", Received{testClient, 2})
	f.die()
	f.truncate(f.path, len("line one\nli"))
	f.begin()
	f.want("killed", "line one\nline two\n")
	f.wantLast("killed", 2)
	f.die()
}

// A deleted file of the journal is followed by another one, with what is known of the line files.
func TestJournalDeleted(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	j := f.journal
	number := j.number
	if err := os.Remove(j.file.Path()); err != nil {
		t.Fatal(err)
	}
	if err := j.sync(); err == nil {
		t.Error("a sync has not seen that the file is gone")
	}
	f.write("line two\n", Received{testClient, 2})
	if j.number != number+1 {
		t.Errorf("file %d of the journal after %d", j.number, number)
	}
	f.die()
	f.begin()
	f.want("killed", "line one\nline two\n")
	f.wantLast("killed", 2)
	f.die()
}

// Two processes cannot have the journal at once.
func TestJournalIsLocked(t *testing.T) {
	f := newTestFile(t)
	f.begin()
	f.write("line one\n", Received{testClient, 1})
	other := NewJournal(f.journal.folder.Dir, f.policy, func() bool { return true }, slog.New(slog.DiscardHandler))
	if err := other.Open(); !errors.Is(err, datafolder.ErrLocked) {
		t.Errorf("another process: %v", err)
	}
	f.die()
}

// A table that is written and parsed again is the same, and within bounds.
func FuzzParseTable(f *testing.F) {
	for _, e := range []*journalEntry{
		{kind: kindKnown, path: "a", known: map[logs.Client]journaledClient{testClient: {3, 5}}},
		{kind: kindLines, path: "a", inode: 7, off: 100, received: []Received{{testClient, 4}}, lines: []byte("line\n")},
		{kind: kindSettled, path: "a"},
	} {
		f.Add(e.appendTable(nil))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		e, parts, ok := parseTable(table)
		if !ok {
			return
		}
		if len(e.received)*17 > len(table) || len(e.known)*17 > len(table) || e.off < 0 || (len(parts) == 1) != (e.kind == kindLines) {
			t.Fatalf("%d bytes are %+v, with %v", len(table), e, parts)
		}
		again, _, ok := parseTable(e.appendTable(nil)) // of no lines, as they are not here
		if again.there.size = e.there.size; !ok || !reflect.DeepEqual(e, again) {
			t.Fatalf("%+v is read again as %+v", e, again)
		}
	})
}
