//go:build !windows

package jobs

import (
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
)

// TestInterruptedEnqueue interrupts the reading of an endless pipe: the reported number is right.
func TestInterruptedEnqueue(t *testing.T) {
	c, err, said := interruptEnqueue(t, func(*Command) {})
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
	_, err, said := interruptEnqueue(t, func(c *Command) {
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
func interruptEnqueue(t *testing.T, before func(*Command)) (c *Command, err error, said string) {
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
	return c, err, text.String()
}
