package logs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestDropReportLaw drops records from spool and memory, kills the client at any time, and loses acknowledgements. In the end the reports add
// up to the dropped records, except those that were dropped from memory after the count was last saved and before a kill.
func TestDropReportLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		id := NewClient()
		const limit = 1000
		s := newSpool(folder, id, limit)
		s.each = 300
		number, acked, dropped, unsaved := uint64(0), uint64(0), int64(0), int64(0)
		reports := map[uint64]int64{} // the reports that the server has, by number
		report := func(t *rapid.T, known bool) {
			n, amount, err := s.drops.nextReport()
			if err != nil {
				t.Fatal(err)
			}
			if amount == 0 {
				return
			}
			if s.lock != nil && (known || reports[n] == 0) {
				unsaved = 0
			}
			if reports[n] == 0 { // otherwise the server ignores it
				reports[n] = amount
			} else if reports[n] != amount {
				t.Fatalf("report %d first counts %d records and then %d", n, reports[n], amount)
			}
			if known {
				s.drops.reported(n)
			}
		}
		kill := func(t *rapid.T) {
			s.closeIn()
			if s.out != nil {
				_ = s.out.Close()
			}
			if s.lock == nil { // nothing is on disk, not even the number of a sent report
				return
			}
			_ = s.drops.close()
			_ = s.lock.Close()
			var torn int64
			if s, torn, err = openSpool(folder, id, limit); err != nil || torn != 0 {
				t.Fatalf("take over: %d bytes torn, %v", torn, err)
			}
			s.each = 300
			dropped, unsaved = dropped-unsaved, 0
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				last := number + rapid.Uint64Range(1, 3).Draw(t, "records")
				if s.lock == nil {
					unsaved = 0
				}
				if n := writeSpool(t, s, acked, 0, spoolBatch(id, number+1, last)); n > 0 {
					dropped, unsaved = dropped+n, 0
				}
				number = last
			},
			"drop from memory": func(t *rapid.T) {
				n := rapid.Int64Range(1, 1000).Draw(t, "records")
				s.drops.add(n)
				dropped, unsaved = dropped+n, unsaved+n
			},
			"save": func(t *rapid.T) {
				if err := errors.Join(s.acquire(), s.drops.save()); err != nil {
					t.Fatal(err)
				}
				unsaved = 0
			},
			"acknowledge": func(t *rapid.T) {
				acked = rapid.Uint64Range(acked, number).Draw(t, "up to")
				s.trim(acked)
			},
			"report":                         func(t *rapid.T) { report(t, true) },
			"report, and hear nothing of it": func(t *rapid.T) { report(t, false) },
			"drop, and be killed before the file is deleted": func(t *rapid.T) {
				if len(s.files) == 0 || s.files[0].writing {
					return
				}
				n := s.files[0].left(acked)
				s.drops.addFiles(n, s.files[0].last)
				dropped, unsaved = dropped+n, 0
				kill(t)
			},
			"kill": kill,
		})
		kill(t)
		for s.drops.owes() {
			report(t, true)
		}
		sum := int64(0)
		for _, n := range reports {
			sum += n
		}
		if sum != dropped {
			t.Fatalf("the reports count %d records, want %d", sum, dropped)
		}
		if err := s.close(number); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Fatalf("the folder still has %v", left)
		}
	})
}

// TestDropCountTorn reads a count that is cut off, or has a wrong byte: then the other state counts.
func TestDropCountTorn(t *testing.T) {
	id, dir := NewClient(), t.TempDir()
	d := newDropCount(id, dir)
	d.serve("test")
	for _, n := range []int64{1, 10, 100} {
		d.add(n)
		if err := d.save(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(d.path)
	if err != nil || d.close() != nil {
		t.Fatal(err)
	}
	read := func(data []byte) int64 {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, dropFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDropCount(id, dir)
		if err := d.load(); err != nil {
			t.Fatal(err)
		}
		return d.state.unreported
	}
	if got := read(data); got != 111 {
		t.Errorf("got %d, want 111", got)
	}
	for i := range data {
		want := int64(111) // the third state is in the place of the first
		if i < dropSlot {
			want = 11
		}
		data[i] ^= 1
		if got := read(data); got != want {
			t.Errorf("byte %d is wrong: got %d, want %d", i, got, want)
		}
		data[i] ^= 1
	}
	for size := range len(data) {
		want := int64(111)
		if size < dropSlot {
			want = 0
		}
		if got := read(data[:size]); got != want {
			t.Errorf("cut to %d bytes: got %d, want %d", size, got, want)
		}
	}
}

func FuzzDropCount(f *testing.F) {
	d := newDropCount(NewClient(), f.TempDir())
	d.add(7)
	if err := d.save(); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(d.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if state, _, ok := readDropState(data); ok && (state.unreported < 0 || state.amount < 0) {
			t.Errorf("got %+v", state)
		}
	})
}
