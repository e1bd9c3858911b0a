package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"pgregory.net/rapid"
)

// spoolBatch returns a batch with one record for each number.
func spoolBatch(id Client, first, last uint64) *outBatch {
	b := &outBatch{Batch: Batch{Service: "test", Client: id, First: first, Last: last}}
	for n := first; n <= last; n++ {
		b.add((&View{Time: int64(n), Message: fmt.Appendf(nil, "message %d", n)}).Append(nil), int64(n))
	}
	return b
}

func plainFrame(b *outBatch) (head, payload []byte) { return b.frame(nil) }

func writeSpool(t interface {
	Helper()
	Fatal(...any)
}, s *spool, acked uint64, sent int, batches ...*outBatch,
) (dropped int64) {
	t.Helper()
	commit, dropped, err := s.write(acked, batches, plainFrame)
	if err != nil {
		t.Fatal(err)
	}
	commit(sent)
	return dropped
}

// rest returns the last numbers of the frames that are still to be read.
func (s *spool) rest(acked uint64) (numbers []uint64, err error) {
	for {
		frame, last, bad := s.next(acked)
		err = errors.Join(err, bad)
		if frame == nil {
			return numbers, err
		}
		numbers = append(numbers, last)
	}
}

// TestSpoolLaw compares a spool with a list: what is written, read, read again after a new connection, acknowledged, dropped and taken
// over after a kill.
func TestSpoolLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		id := NewClient()
		s := newSpool(folder, id, 1<<20)
		s.each = 400 // a few batches
		var kept []uint64
		number, acked, read := uint64(0), uint64(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				var batches []*outBatch
				for range rapid.IntRange(1, 4).Draw(t, "batches") {
					last := number + rapid.Uint64Range(1, 3).Draw(t, "records")
					batches = append(batches, spoolBatch(id, number+1, last))
					number = last
					kept = append(kept, last)
				}
				sent := 0
				if read == len(kept)-len(batches) {
					sent = rapid.IntRange(0, len(batches)).Draw(t, "sent from memory")
				}
				writeSpool(t, s, acked, sent, batches...)
				read += sent
			},
			"read": func(t *rapid.T) {
				_, last, err := s.next(acked)
				if err != nil {
					t.Fatal(err)
				}
				for read < len(kept) && kept[read] <= acked {
					read++
				}
				if want := uint64(0); read < len(kept) {
					want = kept[read]
					read++
					if last != want {
						t.Fatalf("read %d, want %d", last, want)
					}
				} else if last != 0 {
					t.Fatalf("read %d, want nothing", last)
				}
			},
			"reconnect": func(*rapid.T) {
				s.rewind()
				read = 0
			},
			"acknowledge": func(t *rapid.T) {
				if read > 0 {
					acked = max(acked, kept[rapid.IntRange(0, read-1).Draw(t, "which")])
					s.trim(acked)
				}
			},
			"kill": func(t *rapid.T) {
				s.closeIn()
				if s.out != nil {
					_ = s.out.Close()
				}
				if s.lock == nil {
					return
				}
				_ = s.lock.Close()
				var torn int64
				if s, torn, err = openSpool(folder, id, 1<<20); err != nil || torn != 0 {
					t.Fatalf("take over: %d bytes torn, %v", torn, err)
				}
				s.each = 400
				read = 0
			},
			"": func(t *rapid.T) {
				if got, want := s.empty(), number == acked; want && !got && s.first(acked) != 1<<64-1 {
					t.Fatalf("first is %d although all of %d is acknowledged", s.first(acked), acked)
				}
			},
		})
		s.rewind()
		got, err := s.rest(acked)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(kept, func(n uint64) bool { return n <= acked })
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if err := s.close(number); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Fatalf("%v is left", left)
		}
	})
}

// TestSpoolTorn takes over a spool that ends at each byte of a file.
func TestSpoolTorn(t *testing.T) {
	t.Parallel()
	id := NewClient()
	whole := t.TempDir()
	s := newSpool(whole, id, 1<<20)
	writeSpool(t, s, 0, 0, spoolBatch(id, 1, 2), spoolBatch(id, 3, 3), spoolBatch(id, 4, 6))
	path := s.files[0].path
	if err := s.close(0); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(data); size += testenv.Rounds(3, 1) {
		folder := t.TempDir()
		dir := filepath.Join(folder, id.String())
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, torn, err := openSpool(folder, id, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.rest(0)
		if err != nil {
			t.Fatal(err)
		}
		if want := []uint64{2, 3, 6}[:len(got)]; !slices.Equal(got, want) || len(got) == 3 {
			t.Errorf("of %d bytes: got %v", size, got)
		}
		if kept := s.bytes(); len(got) > 0 && kept+torn != int64(size) {
			t.Errorf("of %d bytes: kept %d and cut %d", size, kept, torn)
		}
		if err := s.close(6); err != nil {
			t.Fatal(err)
		}
		if left := testenv.FileNames(t, folder); len(left) > 0 {
			t.Errorf("of %d bytes: %v is left", size, left)
		}
	}
}

// TestSpoolDamaged reads a spool in which a byte is wrong: what follows in that file is left out, with an error.
func TestSpoolDamaged(t *testing.T) {
	id := NewClient()
	s := newSpool(t.TempDir(), id, 1<<20)
	s.each = 1
	writeSpool(t, s, 0, 0, spoolBatch(id, 1, 2), spoolBatch(id, 3, 3))
	writeSpool(t, s, 0, 0, spoolBatch(id, 4, 4))
	data, err := os.ReadFile(s.files[0].path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.LastIndex(data, []byte("message 3"))] ^= 1
	if err := os.WriteFile(s.files[0].path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.rest(0); !slices.Equal(got, []uint64{2, 4}) || !errors.Is(err, logwire.ErrChecksum) {
		t.Errorf("got %v, %v, want 2 and 4, and what was left out", got, err)
	}
	if err := s.close(4); err != nil {
		t.Error(err)
	}
}

// TestSpoolDropsTheOldest writes more than fits.
func TestSpoolDropsTheOldest(t *testing.T) {
	id := NewClient()
	s := newSpool(t.TempDir(), id, 4000)
	s.each = 1000
	dropped := int64(0)
	for n := range uint64(100) {
		dropped += writeSpool(t, s, 0, 0, spoolBatch(id, n+1, n+1))
	}
	got, err := s.rest(0)
	if err != nil {
		t.Fatal(err)
	}
	if s.bytes() > 4100 || dropped == 0 || int64(len(got))+dropped != 100 || got[len(got)-1] != 100 {
		t.Errorf("%d bytes, %d dropped, %d kept", s.bytes(), dropped, len(got))
	}
	if s.first(0) != got[0] || s.records(0) != int64(len(got)) {
		t.Errorf("first is %d of %d, want %d of %d", s.first(0), s.records(0), got[0], len(got))
	}
	if err := s.close(100); err != nil {
		t.Error(err)
	}
}

// TestSpoolLocked checks that the spool of a live process is not taken over, and that no two processes have one spool.
func TestSpoolLocked(t *testing.T) {
	id, folder := NewClient(), t.TempDir()
	s := newSpool(folder, id, 1<<20)
	writeSpool(t, s, 0, 0, spoolBatch(id, 1, 1))
	if _, _, err := openSpool(folder, id, 1<<20); !errors.Is(err, datafolder.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if err := s.close(0); err != nil {
		t.Fatal(err)
	}
	first, _, err := openSpool(folder, id, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := openSpool(folder, id, 1<<20); !errors.Is(err, datafolder.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if err := first.close(1); err != nil {
		t.Error(err)
	}
}

// TestSpoolTaken creates spools in a folder in which another process looks for those of dead processes all the time.
func TestSpoolTaken(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var over atomic.Bool
	var looking sync.WaitGroup
	looking.Go(func() {
		for !over.Load() {
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Error(err)
			}
			for _, entry := range entries {
				id, err := ParseClient(entry.Name())
				if err != nil {
					t.Error(err)
				}
				if s, _, err := openSpool(folder, id, 1<<20); err == nil {
					_ = s.close(0)
				}
			}
		}
	})
	defer looking.Wait()
	defer over.Store(true)
	for range testenv.Rounds(50, 200) {
		id := NewClient()
		s := newSpool(folder, id, 1<<20)
		writeSpool(t, s, 0, 0, spoolBatch(id, 1, 1))
		if err := s.close(1); err != nil {
			t.Error(err)
		}
	}
}

func FuzzSpoolFile(f *testing.F) {
	id := Client{1}
	b := spoolBatch(id, 1, 2)
	head, payload := b.frame(nil)
	f.Add(slices.Concat([]byte(spoolMagic), id[:], head, payload))
	f.Add([]byte(spoolMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := t.TempDir()
		dir := filepath.Join(folder, id.String())
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "1.spool"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := openSpool(folder, id, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := s.rest(0)
		if err != nil || !slices.IsSorted(numbers) {
			t.Errorf("got %v, %v", numbers, err)
		}
		if err := s.close(1<<64 - 1); err != nil {
			t.Error(err)
		}
	})
}

// A file that the system cannot read is not treated as torn: nothing of its spool is cut off or deleted.
func TestSpoolUnreadable(t *testing.T) {
	id := NewClient()
	folder := t.TempDir()
	unreadable := filepath.Join(folder, id.String(), "00000000000000000001.spool") // a folder cannot be read as a file
	if err := os.MkdirAll(unreadable, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openSpool(folder, id, 1<<20); err == nil || !strings.Contains(err.Error(), unreadable) {
		t.Errorf("opened: %v", err)
	}
	if _, err := os.Lstat(unreadable); err != nil {
		t.Error("it was deleted:", err)
	}
}

// TestSenderKeepsTheNewestSpools finds more spools of dead processes than there is space for: the newest ones stay.
func TestSenderKeepsTheNewestSpools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		var ids []string
		size := int64(0)
		for n := range 8 {
			id := NewClient()
			spool := newSpool(folder, id, 1<<20)
			writeSpool(t, spool, 0, 0, spoolBatch(id, 1, 100))
			size = spool.bytes()
			at, path := time.Now().Add(time.Duration(n-8)*time.Hour), spool.files[0].path
			if err := errors.Join(spool.close(0), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id.String())
		}
		s, err := NewSender("tcp://nowhere", &SenderOptions{
			Spool: folder, SpoolBytes: 3*size + size/2, OnError: func(error) {},
			dial: func(context.Context) (net.Conn, error) { return nil, io.ErrClosedPipe },
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		left, want := testenv.FileNames(t, folder), slices.Sorted(slices.Values(append(ids[5:], s.Client().String()))) // it has the count of drops
		if !slices.Equal(left, want) {
			t.Errorf("left are %q, want %q", left, want)
		}
		if got := s.Stats().Dropped; got != 500 {
			t.Errorf("%d are dropped, want 500", got)
		}
		_ = s.Close(t.Context())
	})
}
