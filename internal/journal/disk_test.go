package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

var errTest = errors.New("the disk fails")

// TestFailingDiskLaw appends from several goroutines to a disk that fails now and then: frames that counted are there, once and in order; those that
// failed are not.
func TestFailingDiskLaw(t *testing.T) {
	for seed := range uint64(20) {
		j := newTestJournal(t.TempDir(), true)
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 1))
		f, err := j.Create(1, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		j.disk.Before = func(op, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			if random.IntN(4) == 0 {
				return errTest
			}
			return nil
		}
		var appending sync.Mutex
		var want []string
		var running sync.WaitGroup
		outcomes := make(map[string]error)
		for caller := range 4 {
			running.Go(func() {
				for n := range 25 {
					text := fmt.Sprintf("%d %d", caller, n)
					appending.Lock()
					c, err := add(f, text)
					if err == nil {
						want = append(want, text)
					}
					appending.Unlock()
					if err == nil {
						err = c.Wait(context.Background())
						if known, again := c.Outcome(); !known || !errors.Is(err, again) {
							t.Errorf("the outcome is %v, %v after %v", known, again, err)
						}
					}
					mu.Lock()
					outcomes[text] = err
					mu.Unlock()
				}
			})
		}
		running.Wait()
		j.disk.Before = nil
		if err := f.Repair(); err != nil {
			t.Error(err)
		}
		if err := f.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		f.Release()
		want = slices.DeleteFunc(want, func(text string) bool { return outcomes[text] != nil })
		f, got := j.open(t, 1)
		f.Release()
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Fatalf("seed %d: got %q, want %q", seed, got, want)
		}
	}
}

// TestBroken: where frames count when they are written, a failed sync breaks the file. It keeps its frames and accepts no more.
func TestBroken(t *testing.T) {
	j := newTestJournal(t.TempDir(), false)
	f, err := j.Create(1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := add(f, "one")
	if err != nil || c.Wait(t.Context()) != nil {
		t.Fatal(err)
	}
	j.disk.Before = func(op, _ string) error {
		if op == "sync" {
			return errTest
		}
		return nil
	}
	for range 2 {
		if err := f.Sync(t.Context()); !errors.Is(err, errTest) {
			t.Errorf("Sync = %v, want the error of the failed sync", err)
		}
		j.disk.Before = nil // a second one would succeed
	}
	if err := f.Repair(); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("Repair = %v, want ErrBroken", err)
	}
	if _, _, err := f.Append(nil); !errors.Is(err, errTest) {
		t.Errorf("Append = %v, want the error of the failed sync", err)
	}
	f.Release()
	f, got := j.open(t, 1)
	f.Release()
	if !slices.Equal(got, []string{"one"}) {
		t.Errorf("got %q", got)
	}
}

// TestAppendNeedsRepair: no frame is appended behind the remains of a failed write or sync.
func TestAppendNeedsRepair(t *testing.T) {
	for _, steps := range [][]string{{"write", "truncate"}, {"sync"}} {
		j := newTestJournal(t.TempDir(), true)
		f, err := j.Create(1, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		j.disk.Before = func(op, _ string) error {
			if slices.Contains(steps, op) {
				return errTest
			}
			return nil
		}
		c, err := add(f, "lost")
		if err == nil {
			err = c.Wait(t.Context())
		}
		if !errors.Is(err, errTest) {
			t.Errorf("%s fails: %v", steps, err)
		}
		j.disk.Before = nil
		it := frame("behind")
		if _, _, err := f.Append(it.Table, it.Parts...); err == nil {
			t.Errorf("after a failed %s, Append succeeds without Repair", steps)
		}
		if c, err := add(f, "kept"); err != nil || c.Wait(t.Context()) != nil {
			t.Fatal(err)
		}
		f.Release()
		f, got := j.open(t, 1)
		f.Release()
		if !slices.Equal(got, []string{"kept"}) {
			t.Errorf("%s failed: got %q", steps, got)
		}
	}
}

// TestWaitCanceled: a caller that is canceled while another one syncs gets an error which says that the outcome is open.
func TestWaitCanceled(t *testing.T) {
	j := newTestJournal(t.TempDir(), true)
	f, err := j.Create(1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	syncing, goOn := make(chan struct{}), make(chan struct{})
	j.disk.Before = func(op, _ string) error {
		if op == "sync" {
			close(syncing)
			<-goOn
		}
		return nil
	}
	c, err := add(f, "one")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- c.Wait(context.Background()) }()
	<-syncing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Wait(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "open") {
		t.Errorf("got %v", err)
	}
	close(goOn)
	if err := <-done; err != nil || c.Wait(ctx) != nil {
		t.Error(err)
	}
}

// TestCreateFails: a file that could not be created does not exist.
func TestCreateFails(t *testing.T) {
	for _, step := range []string{"create", "write", "sync", "syncdir"} {
		j := newTestJournal(t.TempDir(), true)
		j.disk.Before = func(op, _ string) error {
			if op == step {
				return errTest
			}
			return nil
		}
		if _, err := j.Create(1, time.Now(), frame("one")); !errors.Is(err, errTest) {
			t.Errorf("%s fails: %v", step, err)
		}
		if numbers, last, err := j.Numbers(); len(numbers) > 0 || last > 0 || err != nil {
			t.Errorf("%s failed: %v, %d, %v", step, numbers, last, err)
		}
	}
}
