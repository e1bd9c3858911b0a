package journal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// A testJournal is a journal of texts. The table of a frame has the sizes and checksums of its parts.
type testJournal struct {
	journal.Folder
	disk datafolder.Disk
	said bytes.Buffer
}

func newTestJournal(dir string, durable bool) *testJournal {
	j := &testJournal{}
	j.Folder = journal.Folder{Dir: dir, Magic: "mwtests1", Disk: &j.disk, Durable: durable, Logger: slog.New(slog.NewTextHandler(&j.said, nil))}
	return j
}

func frame(parts ...string) journal.Frame {
	f := journal.Frame{Table: []byte{byte(len(parts))}}
	for _, part := range parts {
		f.Table = binary.LittleEndian.AppendUint32(f.Table, uint32(len(part)))
		f.Table = binary.LittleEndian.AppendUint32(f.Table, journal.Checksum([]byte(part)))
		f.Parts = append(f.Parts, []byte(part))
	}
	return f
}

func layout(table []byte) (parts []journal.Part, ok bool) {
	if len(table) == 0 || len(table) != 1+8*int(table[0]) {
		return nil, false
	}
	for b := table[1:]; len(b) > 0; b = b[8:] {
		parts = append(parts, journal.Part{Size: int64(binary.LittleEndian.Uint32(b)), Checksum: binary.LittleEndian.Uint32(b[4:])})
	}
	return parts, true
}

func add(f *journal.File, parts ...string) (*journal.Commit, error) {
	if err := f.Repair(); err != nil {
		return nil, err
	}
	it := frame(parts...)
	c, _, err := f.Append(it.Table, it.Parts...)
	return c, err
}

// open reads a file and returns what its frames have, the parts of each joined by bars.
func (j *testJournal) open(t testing.TB, number uint64) (f *journal.File, frames []string) {
	t.Helper()
	type found struct {
		at    int64
		parts []journal.Part
	}
	var all []found
	f, err := j.Open(number, func(table []byte) ([]journal.Part, func(int64), bool) {
		parts, ok := layout(table)
		return parts, func(at int64) { all = append(all, found{at, parts}) }, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		var texts []string
		for _, part := range it.parts {
			b := make([]byte, part.Size)
			if _, err := f.ReadAt(b, it.at); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			it.at += part.Size
			texts = append(texts, string(b))
		}
		frames = append(frames, strings.Join(texts, "|"))
	}
	return f, frames
}

// TestReadBack: appended frames are read back, also with large parts, empty parts or none, and those that the file was created with.
func TestReadBack(t *testing.T) {
	for _, durable := range []bool{true, false} {
		j := newTestJournal(t.TempDir(), durable)
		made := time.Unix(7, 8)
		f, err := j.Create(5, made, frame("first"), frame())
		if err != nil {
			t.Fatal(err)
		}
		large := strings.Repeat("0123456789", 100_000)
		want := []string{"first", "", "a|b", "|" + large + "|c|" + large}
		for _, text := range want[2:] {
			c, err := add(f, strings.Split(text, "|")...)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(t.Context()); err != nil || c.End() != f.Size() {
				t.Fatal(err, c.End(), f.Size())
			}
		}
		f.Release()
		for range 2 {
			f, got := j.open(t, 5)
			if !slices.Equal(got, want) || f.Number != 5 || !f.Made.Equal(made) {
				t.Errorf("got %.100q, number %d, made %v", got, f.Number, f.Made)
			}
			f.Release()
		}
		if j.said.Len() > 0 {
			t.Error(j.said.String())
		}
	}
}

// TestTornLaw cuts or changes a file at any place. The frames before that place are there, and in a durable journal those behind it, too, when they
// say that it was on disk. Frames that are appended then follow them.
func TestTornLaw(t *testing.T) {
	const frames = 10
	rapid.Check(t, func(rt *rapid.T) {
		durable := rapid.Bool().Draw(rt, "durable")
		j := newTestJournal(t.TempDir(), durable)
		f, err := j.Create(1, time.Now())
		if err != nil {
			rt.Fatal(err)
		}
		var want []string
		ends := []int64{f.Size()}
		for n := range frames {
			text := fmt.Sprintf("frame %d|%s", n, strings.Repeat("x", rapid.IntRange(0, 50).Draw(rt, "size")))
			c, err := add(f, strings.Split(text, "|")...)
			if err != nil || c.Wait(t.Context()) != nil {
				rt.Fatal(err)
			}
			want, ends = append(want, text), append(ends, c.End())
		}
		f.Release()
		path := j.Path(1)
		data, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		at := rapid.IntRange(journal.HeadSize, len(data)-1).Draw(rt, "at")
		whole := 0
		for ends[whole+1] <= int64(at) {
			whole++
		}
		if rapid.Bool().Draw(rt, "changed") {
			data[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
			if durable && whole < frames-1 {
				want = slices.Delete(want, whole, whole+1)
			} else {
				want = want[:whole]
			}
		} else {
			zeros := rapid.Bool().Draw(rt, "zeros") // as a file system may leave it
			if want = want[:whole]; zeros {
				clear(data[at:])
			} else {
				data = data[:at]
			}
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			rt.Fatal(err)
		}
		f, got := j.open(t, 1)
		if !slices.Equal(got, want) {
			rt.Fatalf("byte %d: got %q, want %q", at, got, want)
		}
		want = append(want, "more")
		if c, err := add(f, "more"); err != nil || c.Wait(t.Context()) != nil {
			rt.Fatal(err)
		}
		f.Release()
		f, got = j.open(t, 1)
		f.Release()
		if !slices.Equal(got, want) {
			rt.Fatalf("byte %d, then: got %q, want %q", at, got, want)
		}
	})
}

// TestFrameInAFrame: bytes in a part that look like a frame are not taken for one if the part is torn or damaged, but not the head and the table
// before it.
func TestFrameInAFrame(t *testing.T) {
	j := newTestJournal(t.TempDir(), true)
	made := func(number uint64, texts ...string) (ends []int64) {
		f, err := j.Create(number, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Release()
		for _, text := range texts {
			c, err := add(f, text)
			if err != nil || c.Wait(t.Context()) != nil {
				t.Fatal(err)
			}
			ends = append(ends, c.End())
		}
		return ends
	}
	ends := made(1, strings.Repeat("x", 10_000), "forged")
	data, err := os.ReadFile(j.Path(1))
	if err != nil {
		t.Fatal(err)
	}
	forged := string(data[ends[0]:]) // says that the first 10,000 bytes are on disk
	for n, test := range map[uint64]struct {
		texts   []string
		damaged []int // of the texts; their last byte is
		cut     int   // bytes that are missing at the end
		want    []string
	}{
		2: {[]string{"one", forged + "."}, nil, 1, []string{"one"}},
		3: {[]string{"one", forged + ".", "two"}, []int{1}, 0, []string{"one", "two"}},
		4: {[]string{"one", forged + ".", forged + ".", "two"}, []int{1, 2}, 0, []string{"one", "two"}},
		5: {[]string{"one", forged + ".", forged + "."}, []int{1}, 1, []string{"one"}},
	} {
		ends := made(n, test.texts...)
		data, err := os.ReadFile(j.Path(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range test.damaged {
			data[ends[i]-1] ^= 1
		}
		if err := os.WriteFile(j.Path(n), data[:len(data)-test.cut], 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, got := j.open(t, n)
			f.Release()
			if !slices.Equal(got, test.want) {
				t.Errorf("file %d: got %q, want %q", n, got, test.want)
			}
		}
	}
}

// TestPutAside: files without a head are put aside, or deleted if there is nothing else in them. Other files in the folder are left alone.
func TestPutAside(t *testing.T) {
	j := newTestJournal(t.TempDir(), true)
	for n := range uint64(3) {
		f, err := j.Create(n+1, time.Now(), frame("one"))
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if err := os.Truncate(j.Path(2), journal.HeadSize-1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(j.Path(3), bytes.Repeat([]byte{'x'}, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock", "x.journal", "4.journal"} {
		if err := os.WriteFile(filepath.Join(j.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j.ReadOnly = true
	for _, readOnly := range []bool{true, false} {
		j.ReadOnly = readOnly
		numbers, last, err := j.Numbers()
		if !slices.Equal(numbers, []uint64{1, 2, 3}) || last != 3 || err != nil {
			t.Fatal(numbers, last, err)
		}
		for _, n := range numbers[1:] {
			if f, err := j.Open(n, nil); f != nil || err != nil {
				t.Errorf("file %d: %v, %v", n, f, err)
			}
		}
	}
	if numbers, last, err := j.Numbers(); !slices.Equal(numbers, []uint64{1}) || last != 3 || err != nil {
		t.Error(numbers, last, err)
	}
	if _, err := os.Stat(j.Path(3) + ".damaged"); err != nil {
		t.Error(err)
	}
	j.Magic = "mwother1"
	if f, err := j.Open(1, nil); f != nil || err != nil {
		t.Errorf("a file of another journal: %v, %v", f, err)
	}
}

// FuzzOpen: whatever follows the head of a file, reading it ends, and a second read finds the same frames.
func FuzzOpen(f *testing.F) {
	j := newTestJournal(f.TempDir(), true)
	file, err := j.Create(1, time.Now(), frame("one", "two"), frame(), frame("three"))
	if err != nil {
		f.Fatal(err)
	}
	file.Release()
	data, err := os.ReadFile(j.Path(1))
	if err != nil {
		f.Fatal(err)
	}
	head, frames := data[:journal.HeadSize], data[journal.HeadSize:]
	f.Add(frames, false)
	f.Add(frames[:len(frames)-1], false)
	f.Add(append(bytes.Repeat([]byte{1}, 50), frames...), true)
	f.Fuzz(func(t *testing.T, frames []byte, fix bool) {
		if fix && len(frames) > 28 { // the checksum of the first frame
			table := frames[28:]
			if size := binary.LittleEndian.Uint32(frames[4:]); uint64(size) < uint64(len(table)) {
				table = table[:size]
			}
			binary.LittleEndian.PutUint32(frames[24:], journal.Checksum(frames[:24])^journal.Checksum(table))
		}
		j := newTestJournal(t.TempDir(), true)
		if err := os.WriteFile(j.Path(1), append(slices.Clone(head), frames...), 0o600); err != nil {
			t.Fatal(err)
		}
		file, found := j.open(t, 1)
		size := file.Size()
		file.Release()
		file, again := j.open(t, 1)
		defer file.Release()
		if !slices.Equal(found, again) || file.Size() != size {
			t.Fatalf("%q in %d bytes, then %q in %d", found, size, again, file.Size())
		}
	})
}
