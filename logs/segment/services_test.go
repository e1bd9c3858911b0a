package segment

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A search over many services does not have a file of each open, and finds the same.
func TestSearchOfManyServices(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	const services = 3 * maxOpen / 2
	opened := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("the open files cannot be listed: ", err)
		}
		return len(files)
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, _ := sabotagedWith(t, t.TempDir(), Config{Sync: OS, Logger: quietly})
		for part := range uint64(3) { // the last one stays in the journal
			for n := range services {
				if err := s.Append(ctx, logtest.Batch(fmt.Sprint("service-", n), logs.Client{}, 10*part+1, 10)); err != nil {
					return err
				}
			}
			if part < 2 {
				s.rotateNow(t)
			}
		}
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		for _, newest := range []bool{false, true} {
			before, n, next := opened(), 0, map[string]uint64{}
			for r, err := range s.Find(ctx, storage.Query{Newest: newest}) {
				if err != nil {
					return err
				}
				if n++; n%1000 == 1 {
					if more := opened() - before; more > maxOpen {
						t.Fatalf("%d more files are open", more)
					}
				}
				next[r.Service]++
				want := next[r.Service]
				if newest {
					want = 31 - want
				}
				if r.Number != want || r.Message != logtest.Message(want) {
					t.Fatalf("record %d of %s is %q, want %d", r.Number, r.Service, r.Message, want)
				}
			}
			if n != 30*services {
				t.Errorf("%d records", n)
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// If too many services have no records any more, they are forgotten. Services with records stay.
func TestForgetServices(t *testing.T) {
	dir := t.TempDir()
	s, _ := sabotagedWith(t, dir, Config{Sync: OS, Logger: quietly})
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		if err := s.Append(ctx, logtest.Batch("segment", logs.Client{}, 1, 5)); err != nil {
			return err
		}
		s.rotateNow(t)
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		return s.Append(ctx, logtest.Batch("journal", logs.Client{}, 1, 5))
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxEmpty {
		svc := s.service(fmt.Sprint("empty-", n))
		svc.written, svc.kept = 7, 7
	}
	count := func(want int) {
		t.Helper()
		s.writing.Lock()
		err := s.writeCheckpoint()
		s.writing.Unlock()
		all, failed := s.Services(t.Context())
		if err != nil || failed != nil || len(all) != want {
			t.Errorf("%d services, want %d, %v, %v", len(all), want, err, failed)
		}
	}
	count(maxEmpty + 2)
	s.service("one too many").kept, s.service("one too many").written = 7, 7
	count(2)
	for want := uint64(6); want < 9; want++ {
		if err := s.Append(t.Context(), logtest.Batch("segment", logs.Client{}, want, 1), logtest.Batch("empty-1", logs.Client{}, want-5, 1)); err != nil {
			t.Fatal(err)
		}
	}
	count(3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = sabotaged(t, dir)
	count(3)
	for service, want := range map[string]uint64{"segment": 8, "journal": 5, "empty-1": 3} {
		if got := s.service(service).kept; got != want {
			t.Errorf("%s has %d, want %d", service, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
