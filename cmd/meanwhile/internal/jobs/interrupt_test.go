//go:build !windows

package jobs

import (
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
	c := &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
	if err := (&Migrate{}).Run(c, probe.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = typed.Close(); _ = in.Close() }()
	var said strings.Builder
	ended := make(chan error, 1)
	go func() {
		ended <- (&Enqueue{Kind: "mail", From: "-"}).Run(c, probe.Streams{In: in, Out: io.Discard, Err: &said})
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
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, interrupt.Err) {
		t.Errorf("got %v, want %v", err, interrupt.Err)
	}
	n := count(t, c)
	want := fmt.Sprintf("Interrupted: %s enqueued, those up to standard input:%d\n", probe.Count(n, "job"), 2*n-1)
	if got := said.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
