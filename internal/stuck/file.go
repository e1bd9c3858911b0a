//go:build linux || darwin

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "pipe-read", start: pipeRead, want: []want{
			{path: "waiter", wait: "file", at: "pipe-read", has: []string{"read"}},
		}},
		stuckCase{name: "pipe-write", start: pipeWrite, want: []want{
			{path: "waiter", wait: "file", at: "pipe-write", has: []string{"write"}},
		}},
		stuckCase{name: "lines", start: lines, want: []want{{path: "loop", wait: "read", at: "lines"}}},
		stuckCase{name: "fifo-open", start: fifoOpen, want: []want{
			{path: "waiter", wait: "system call", at: "fifo-open", has: []string{"open"}},
		}},
		stuckCase{name: "process", start: processEnd, want: []want{{path: "waiter", wait: "process", at: "process"}}},
		stuckCase{name: "process-pipe", start: processPipe, want: []want{
			{path: "waiter", wait: "file", on: "pipes of a process that has ended", at: "process-pipe"},
		}},
		stuckCase{name: "process-output", start: processOutput, want: []want{{path: "waiter", wait: "process", at: "process-output"}}},
		stuckCase{name: "flock", start: flock, want: []want{
			{path: "waiter", wait: "system call", at: "flock", has: []string{"flock"}},
		}},
		stuckCase{name: "raw-read", start: rawRead, want: []want{
			{path: "waiter", wait: "system call", at: "raw-read", has: []string{"read"}},
		}},
		stuckCase{name: "raw-call", start: rawCall, want: []want{
			{path: "waiter", wait: "system call", on: "syscall.Syscall", at: "raw-call"},
		}},
		stuckCase{name: "blocking", start: blockingRead, want: []want{
			{path: "caller", wait: "blocking", at: "blocking"},
			{path: "caller/blocking", wait: "system call", at: "blocking-read", has: []string{"read"}},
		}},
	)
}

func pipeRead(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(w)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := r.Read(make([]byte, 1)) // stuck: pipe-read
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func pipeWrite(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(r)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := w.Write(make([]byte, 1<<20)) // stuck: pipe-write
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func lines(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(w)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Lines(ctx, r) { // stuck: lines
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

// fifoOpen opens a named pipe that nobody has open for writing.
func fifoOpen(ctx context.Context) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return fmt.Errorf("make a named pipe: %w", err)
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := os.OpenFile(name, os.O_RDONLY, 0) // stuck: fifo-open
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// processEnd waits for a command that ends when its input is closed, and so with this program at the latest.
func processEnd(ctx context.Context) error {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	hold(in)
	if err := cmd.Start(); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		return cmd.Wait() // stuck: process
	}, meanwhile.Name("waiter"))
	return nil
}

// processPipe waits for a command that has ended, but left behind another process, which has its output open. That process ends when its input is
// closed, and so with this program at the latest.
func processPipe(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(w)
	cmd := exec.Command("sh", "-c", "cat <&3 &")
	cmd.ExtraFiles = []*os.File{r}
	cmd.Stdout = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		return cmd.Wait() // stuck: process-pipe
	}, meanwhile.Name("waiter"))
	return nil
}

// processOutput waits for a command with a ctx, and for all of its output.
func processOutput(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(w)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "cat")
		cmd.Stdin = r
		_, err := cmd.CombinedOutput() // stuck: process-output
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// flock locks a file twice. Locks of two descriptors exclude each other even within one process.
func flock(ctx context.Context) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "lock")
	first, err := os.Create(name)
	if err != nil {
		return err
	}
	second, err := os.Open(name)
	if err != nil {
		return err
	}
	hold(first, second)
	if err := syscall.Flock(int(first.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	fd := int(second.Fd())
	meanwhile.Go(ctx, func(context.Context) error {
		return syscall.Flock(fd, syscall.LOCK_EX) // stuck: flock
	}, meanwhile.Name("waiter"))
	return nil
}

// rawPipe returns the reading end of a pipe of which the runtime does not know, so that reading from it blocks a thread.
func rawPipe() (fd int, err error) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return 0, fmt.Errorf("make a pipe: %w", err)
	}
	return ends[0], nil
}

func rawRead(ctx context.Context) error {
	fd, err := rawPipe()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := syscall.Read(fd, make([]byte, 1)) // stuck: raw-read
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// rawCall makes a system call directly, with syscall.Syscall.
func rawCall(ctx context.Context) error {
	fd, err := rawPipe()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		buf := make([]byte, 1)
		_, _, err := syscall.Syscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), 1) // stuck: raw-call
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func blockingRead(ctx context.Context) error {
	fd, err := rawPipe()
	if err != nil {
		return err
	}
	read := func() (int, error) {
		return syscall.Read(fd, make([]byte, 1)) // stuck: blocking-read
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := meanwhile.Blocking(ctx, read) // stuck: blocking
		return err
	}, meanwhile.Name("caller"))
	return nil
}
