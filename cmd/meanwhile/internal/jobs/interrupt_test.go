//go:build !windows

package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestInterruptedEnqueue interrupts the reading of an endless pipe: the reported number is right.
func TestInterruptedEnqueue(t *testing.T) {
	c, said, err := interruptEnqueue(t, func(*Command) {})
	if !errors.Is(err, interrupt.Err) {
		t.Errorf("got %v, want %v", err, interrupt.Err)
	}
	n := count(t, c)
	want := fmt.Sprintf("Interrupted: %s enqueued, those up to standard input:%d\n", probe.Count(n, "job"), 2*n-1)
	if said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}

// TestInterruptedEnqueueFails: lines that were read, but not enqueued because the store failed, are not reported as enqueued.
func TestInterruptedEnqueueFails(t *testing.T) {
	_, said, err := interruptEnqueue(t, func(c *Command) {
		db, err := sql.Open("sqlite", c.Store)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), "alter table meanwhile_job rename to gone"); err != nil {
			t.Fatal(err)
		}
	})
	if want := "; 1,000 jobs before that were enqueued"; err == nil || errors.Is(err, interrupt.Err) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want the error of the store and %q", err, want)
	}
	if said != "" {
		t.Errorf("got %q, want nothing", said)
	}
}

// interruptEnqueue interrupts the reading of an endless pipe when 1,000 jobs are enqueued and before has been called. There are more lines.
func interruptEnqueue(t *testing.T, before func(*Command)) (c *Command, said string, err error) {
	t.Helper()
	c = &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
	if err := (&Migrate{}).Run(c, probe.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = typed.Close(); _ = in.Close() }()
	var text strings.Builder
	ended := make(chan error, 1)
	go func() {
		ended <- (&Enqueue{Kind: "mail", From: "-"}).Run(c, probe.Streams{In: in, Out: io.Discard, Err: &text})
	}()
	if _, err := io.WriteString(typed, strings.Repeat("{}\n\n", 1010)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); count(t, c) < 1000; { // the jobs of the first write
		if time.Now().After(deadline) {
			t.Fatal("no jobs were enqueued")
		}
		time.Sleep(10 * time.Millisecond)
	}
	before(c)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = <-ended
	return c, text.String(), err
}

// An interruptedStore interrupts the process in the second part of an action, which then fails.
type interruptedStore struct {
	job.Store
	parts int
}

func (s *interruptedStore) next(ctx context.Context) error {
	if s.parts++; s.parts == 1 {
		return nil
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		return err
	}
	<-ctx.Done()
	return fmt.Errorf("change jobs: %w", ctx.Err())
}

func (s *interruptedStore) Apply(ctx context.Context, _ job.Filter, _ job.Action) (job.ActionResult, error) {
	if err := s.next(ctx); err != nil {
		return job.ActionResult{}, err
	}
	return job.ActionResult{Changed: 1000, Next: job.NewID()}, nil
}

func (s *interruptedStore) Prune(ctx context.Context, _ map[job.State]time.Duration, _ int) (job.Pruned, error) {
	if err := s.next(ctx); err != nil {
		return job.Pruned{}, err
	}
	return job.Pruned{Deleted: 1000}, nil
}

// TestInterruptedAction: a command that changes many jobs says how many it has changed before a signal.
func TestInterruptedAction(t *testing.T) {
	job.Register("interrupted", nil, func(context.Context, string) (job.Store, error) { return &interruptedStore{Store: memory.New()}, nil })
	for done, run := range map[string]func(*Command, probe.Streams) error{
		"deleted": (&Delete{Action{All: true, Yes: true}}).Run,
		"pruned":  (&Prune{Yes: true}).Run,
	} {
		var said strings.Builder
		err := run(&Command{Target: Target{Store: "interrupted://host"}}, probe.Streams{Out: io.Discard, Err: &said})
		if !errors.Is(err, interrupt.Err) {
			t.Errorf("%s: got %v, want %v", done, err, interrupt.Err)
		}
		if want := "Interrupted: 1,000 jobs " + done + "\n"; said.String() != want {
			t.Errorf("got %q, want %q", said.String(), want)
		}
	}
}
