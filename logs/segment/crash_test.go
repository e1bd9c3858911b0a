package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A saboteur makes a disk fail.
type saboteur struct {
	mu    sync.Mutex
	steps []string
	fail  func(n int, op, path string) error // n counts from 0 on
}

func (s *saboteur) before(op, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, op+" "+path)
	if s.fail == nil {
		return nil
	}
	return s.fail(len(s.steps)-1, op, path)
}

func (s *saboteur) set(fail func(n int, op, path string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps, s.fail = nil, fail
}

var (
	quietly  = slog.New(slog.DiscardHandler)
	errCrash = errors.New("the process is dead")
)

// sabotaged opens a store without background tasks, on a disk with a saboteur.
func sabotaged(t *testing.T, dir string) (*Store, *saboteur) {
	t.Helper()
	return sabotagedWith(t, dir, Config{Logger: quietly})
}

func sabotagedWith(t *testing.T, dir string, cfg Config) (*Store, *saboteur) {
	t.Helper()
	s := newStore(dir, cfg)
	bad := new(saboteur)
	s.disk.Before = bad.before
	close(s.stopped)
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	return s, bad
}

func (s *Store) rotateNow(t *testing.T) {
	t.Helper()
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.rotate(s.active.Made); err != nil {
		t.Fatal(err)
	}
}

// writeNow is Append up to where it waits for the commit.
func (s *Store) writeNow(t *testing.T, b *logs.Batch) *commit {
	t.Helper()
	s.writing.Lock()
	defer s.writing.Unlock()
	size := uint32(len(b.Data))
	c, err := s.write([]part{{
		entry: entry{raw: size, stored: size, crc: checksum(b.Data), count: uint32(b.Count), min: b.Min, max: b.Max},
		name:  b.Service, client: b.Client, from: b.First, until: b.Last, data: b.Data,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A process may die at any step of converting a journal: each of its records is there once afterwards. Each step is tried: from it on,
// nothing reaches the disk.
func TestCrashWhileConverting(t *testing.T) {
	t.Parallel()
	client := logs.Client{1}
	for step := 0; ; step += testenv.Rounds(3, 1) { // what of it is done
		dir, crashed := t.TempDir(), false
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			s, bad := sabotagedWith(t, dir, Config{Sync: OS, Logger: quietly})
			for n := range uint64(3) {
				if err := s.Append(ctx, logtest.Batch("a", client, n*20+1, 10), logtest.Batch("b", client, n*20+11, 10)); err != nil {
					return err
				}
				if n < 2 {
					s.rotateNow(t)
				}
			}
			bad.set(func(n int, _, _ string) error {
				if n < step {
					return nil
				}
				crashed = true
				return errCrash
			})
			_ = s.convertAll(ctx)
			s.letGo() // as the system does for the dead
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
			s, _ := sabotaged(t, dir)
			if last, _ := s.Last(ctx, client); last != 60 {
				t.Errorf("step %d: last is %d", step, last)
			}
			for range 2 {
				for i, name := range []string{"a", "b"} {
					records, err := meanwhile.Collect(s.Read(ctx, name, 1))
					if err != nil || len(records) != 30 {
						t.Fatalf("step %d: %d records of %s, %v", step, len(records), name, err)
					}
					for k, r := range records {
						if want := logtest.Message(uint64(k/10*20 + i*10 + k%10 + 1)); r.Message != want || r.Number != uint64(k+1) {
							t.Fatalf("step %d: record %d of %s is %d, %q", step, k+1, name, r.Number, r.Message)
						}
					}
				}
				if err := s.convertAll(ctx); err != nil {
					t.Fatal(err)
				}
			}
			return s.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		if !crashed {
			if step < 20 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// Written records are in the segments of their journal, however long the caller of Append is held up before Append returns.
func TestConvertWhatWasJustWritten(t *testing.T) {
	for _, sync := range []Sync{Always, Interval, OS} {
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			s, _ := sabotagedWith(t, t.TempDir(), Config{Sync: sync, Logger: quietly})
			s.writeNow(t, logtest.Batch("a", logs.Client{}, 1, 10))
			s.rotateNow(t)
			if err := s.convertAll(ctx); err != nil {
				return err
			}
			if records, err := meanwhile.Collect(s.Find(ctx, storage.Query{})); len(records) != 10 || err != nil {
				t.Errorf("sync %d: %d records, %v", sync, len(records), err)
			}
			return s.Close()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// On a full disk Append stores nothing, and returns logs.ErrFull; it works again when there is space.
func TestFullDisk(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		t.Run(op, func(t *testing.T) {
			dir, client := t.TempDir(), logs.Client{1}
			err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
				s, bad := sabotaged(t, dir)
				if err := s.Append(ctx, logtest.Batch("a", client, 1, 10)); err != nil {
					return err
				}
				for range 3 {
					bad.set(func(_ int, what, _ string) error {
						if what == op || what == "truncate" {
							return syscall.ENOSPC
						}
						return nil
					})
					for range 2 {
						if err := s.Append(ctx, logtest.Batch("a", client, 11, 10), logtest.Batch("b", client, 21, 10)); !errors.Is(err, logs.ErrFull) {
							return fmt.Errorf("got %w, want logs.ErrFull", err)
						}
					}
					if last, _ := s.Last(ctx, client); last != 10 {
						t.Errorf("last is %d", last)
					}
					if records, err := meanwhile.Collect(s.Find(ctx, storage.Query{})); len(records) != 10 || err != nil {
						t.Errorf("%d records, %v", len(records), err)
					}
					bad.set(nil)
				}
				if err := s.Append(ctx, logtest.Batch("a", client, 11, 10)); err != nil {
					return err
				}
				s.letGo()
				s, _ = sabotaged(t, dir)
				records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
				if len(records) != 20 || err != nil || records[19].Number != 20 {
					t.Errorf("%d records, %v", len(records), err)
				}
				return s.Close()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A disk that is full while a journal is converted leaves the journal as it is, until there is space.
func TestFullDiskWhileConverting(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, bad := sabotaged(t, t.TempDir())
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 1, 10)); err != nil {
			return err
		}
		s.rotateNow(t)
		bad.set(func(_ int, op, path string) error {
			if op == "write" && strings.Contains(path, "services") {
				return syscall.ENOSPC
			}
			return nil
		})
		if err := s.convertAll(ctx); !isFull(err) {
			t.Errorf("got %v", err)
		}
		bad.set(nil)
		for range 2 {
			records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
			if len(records) != 10 || err != nil {
				t.Errorf("%d records, %v", len(records), err)
			}
			if err := s.convertAll(ctx); err != nil {
				return err
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// If Append does not wait for the disk, a failed sync may have lost what was written before it. Later records are appended to another
// journal, since nothing is found after a part that was lost.
func TestAnotherJournalAfterFailedSync(t *testing.T) {
	dir := t.TempDir()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, bad := sabotagedWith(t, dir, Config{Sync: Interval, Logger: quietly})
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 1, 10)); err != nil {
			return err
		}
		lost := s.active.Path()
		bad.set(func(_ int, op, _ string) error {
			if op == "sync" {
				return syscall.EIO
			}
			return nil
		})
		if err := s.Sync(ctx); !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 11, 10)); !errors.Is(err, syscall.EIO) {
			t.Errorf("without another journal: %v", err)
		}
		bad.set(nil)
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 11, 10)); err != nil {
			return err
		}
		if records, err := meanwhile.Collect(s.Find(ctx, storage.Query{})); len(records) != 20 || err != nil {
			t.Errorf("%d records, %v", len(records), err)
		}
		if err := s.Sync(ctx); err != nil {
			return err
		}
		s.letGo()
		if err := os.Truncate(lost, journal.HeadSize); err != nil { // as after a loss of power
			return err
		}
		s, _ = sabotaged(t, dir)
		records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
		if err != nil || len(records) != 10 || records[0].Number != 11 || records[0].Message != logtest.Message(11) {
			t.Errorf("afterwards: %d records, %v", len(records), err)
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// A journal that was deleted or moved is not written any more: records that were acknowledged from it would be lost with the process. The
// records that it has are converted into segments as long as its process lives.
func TestAnotherJournalInPlaceOfOneThatIsGone(t *testing.T) {
	for _, policy := range []Sync{Always, Interval} {
		for name, take := range map[string]func(path string) error{
			"deleted":  os.Remove,
			"moved":    func(path string) error { return os.Rename(path, path+".old") },
			"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
		} {
			t.Run(fmt.Sprint(policy, " ", name), func(t *testing.T) {
				dir := t.TempDir()
				err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
					s, _ := sabotagedWith(t, dir, Config{Sync: policy, Logger: quietly})
					if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 1, 10)); err != nil {
						return err
					}
					gone := s.active.Path()
					if err := take(gone); err != nil {
						return err
					}
					appended := s.Append(ctx, logtest.Batch("a", logs.Client{}, 11, 10))
					if policy == Interval {
						if err := s.Sync(ctx); err == nil {
							t.Error("a sync has not seen that the journal is gone")
						}
					} else if appended == nil {
						t.Error("records were acknowledged that the next process would not find")
					}
					if appended != nil {
						if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 11, 10)); err != nil {
							return err
						}
					}
					if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 21, 10)); err != nil {
						return err
					}
					if s.active.Path() == gone {
						t.Error("no other journal was begun")
					}
					if err := s.convertAll(ctx); err != nil {
						return err
					}
					return s.Close()
				})
				if err != nil {
					t.Fatal(err)
				}
				err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
					s, _ := sabotaged(t, dir)
					records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
					if err != nil || len(records) != 30 {
						t.Fatalf("afterwards: %d records, %v, want 30", len(records), err)
					}
					for i, r := range records {
						if r.Number != uint64(i+1) || r.Message != logtest.Message(uint64(i+1)) {
							t.Errorf("record %d is %d, %q", i+1, r.Number, r.Message)
						}
					}
					return s.Close()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A journal that cannot be repaired is not closed: the next process would count what failed in it, and its numbers would be assigned
// twice.
func TestNoAnotherJournalBeforeRepair(t *testing.T) {
	dir := t.TempDir()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, bad := sabotagedWith(t, dir, Config{JournalAge: time.Nanosecond, Logger: quietly})
		bad.set(func(_ int, op, _ string) error {
			if op == "sync" || op == "truncate" {
				return syscall.EIO
			}
			return nil
		})
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 1, 10)); !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
		number := s.active.Number
		bad.set(func(_ int, op, _ string) error {
			if op == "truncate" {
				return syscall.EIO
			}
			return nil
		})
		s.writing.Lock()
		err := s.rotateIfDue()
		s.writing.Unlock()
		if !errors.Is(err, syscall.EIO) || s.active.Number != number {
			t.Errorf("journal %d after %d, %v", s.active.Number, number, err)
		}
		bad.set(nil)
		if err := s.Append(ctx, logtest.Batch("a", logs.Client{}, 101, 10)); err != nil {
			return err
		}
		s.letGo()
		s, _ = sabotaged(t, dir)
		records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
		if err != nil || len(records) != 10 || records[0].Number != 1 || records[0].Message != logtest.Message(101) {
			t.Errorf("afterwards: %d records, %v", len(records), err)
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// What fails while a journal is closed is cut off it, and its numbers are assigned again: records that are acknowledged from the next
// journal are found, also after a conversion and by the next process, and those that failed are not.
func TestAnotherJournalAfterWhatFailed(t *testing.T) {
	failing, other := logs.Client{1}, logs.Client{2}
	for name, fail := range map[string]func(ctx context.Context, t *testing.T, s *Store, bad *saboteur, c *commit){
		// The sync that notices it is that of the rotation.
		"deleted": func(_ context.Context, t *testing.T, s *Store, _ *saboteur, _ *commit) {
			if err := os.Remove(s.active.Path()); err != nil {
				t.Fatal(err)
			}
		},
		// The sync fails after the rotation was found to be due, and before it syncs.
		"not synced": func(ctx context.Context, t *testing.T, s *Store, bad *saboteur, c *commit) {
			bad.set(func(_ int, op, _ string) error {
				if op == "sync" {
					return syscall.EIO
				}
				return nil
			})
			if err := s.awaitCommit(ctx, c); !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v", err)
			}
			bad.set(nil)
			s.rotateNow(t)
			if s.newest() != nil {
				t.Error("the next journal was begun before the numbers of what failed were revoked")
			}
		},
	} {
		for _, converted := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", converted), func(t *testing.T) {
				dir := t.TempDir()
				err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
					s, bad := sabotagedWith(t, dir, Config{JournalBytes: 1, Logger: quietly})
					c := s.writeNow(t, logtest.Batch("a", failing, 101, 10))
					number := s.active.Number
					fail(ctx, t, s, bad, c)
					if err := s.Append(ctx, logtest.Batch("a", other, 1, 10)); err != nil {
						return err
					}
					if s.active.Number == number {
						t.Error("no other journal was begun")
					}
					if err := s.awaitCommit(ctx, c); err == nil {
						t.Error("records were acknowledged that are not on disk")
					}
					records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
					if err != nil || len(records) != 10 || records[0].Message != logtest.Message(1) {
						t.Errorf("%d records, %v", len(records), err)
					}
					if !converted {
						s.letGo() // as the system does for the dead
						return nil
					}
					s.rotateNow(t)
					if err := s.convertAll(ctx); err != nil {
						return err
					}
					return s.Close()
				})
				if err != nil {
					t.Fatal(err)
				}
				err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
					s, _ := sabotaged(t, dir)
					if last, err := s.Last(ctx, failing); last != 0 || err != nil {
						t.Errorf("the last record of the client whose records failed is %d, %v", last, err)
					}
					records, err := meanwhile.Collect(s.Find(ctx, storage.Query{}))
					if err != nil || len(records) != 10 {
						t.Fatalf("afterwards: %d records, %v, want 10", len(records), err)
					}
					for i, r := range records {
						if r.Number != uint64(i+1) || r.Message != logtest.Message(uint64(i+1)) {
							t.Errorf("record %d is %d, %q", i+1, r.Number, r.Message)
						}
					}
					return s.Close()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
