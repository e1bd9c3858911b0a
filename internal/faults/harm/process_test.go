//go:build unix

package harm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// shell returns a process that runs a script, and the violations that it has reported.
func shell(t *testing.T, script string) (*Process, *[]string) {
	t.Helper()
	var violations []string
	return &Process{
		Name: "shell", Folder: t.TempDir(),
		Guard:    &Guard{in: nobody{io.Discard}},
		Command:  func(name string, n int) []string { return []string{"sh", "-c", script, name, fmt.Sprint(n)} },
		Violated: func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) },
	}, &violations
}

// A nobody discards reports to a guard.
type nobody struct{ io.Writer }

func (nobody) Close() error { return nil }

// soon repeats do while its error says that there is nothing to break yet.
func soon(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !nothing(err) {
			return err
		}
		if err := meanwhile.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func TestProcessIsStartedAgainUntilItIsToldToEnd(t *testing.T) {
	t.Parallel()
	p, violations := shell(t, "exec sleep 600")
	starts := make(chan int, 3)
	command := p.Command
	p.Command = func(name string, n int) []string {
		starts <- n
		return command(name, n)
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		run := meanwhile.Go(ctx, p.Run)
		<-starts
		if err := soon(ctx, func() error { return p.Signal(syscall.SIGKILL) }); err != nil {
			return err
		}
		<-starts
		if err := soon(ctx, func() error { return p.Signal(syscall.SIGSTOP) }); err != nil {
			return err
		}
		if err := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
		if n := <-starts; n != 3 {
			t.Errorf("got start %d, want 3", n)
		}
		return End(ctx, run)
	})
	if err != nil || len(*violations) != 0 {
		t.Errorf("got %v, violations %q", err, *violations)
	}
	if err := p.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process has not ended: %v", err)
	}
}

func TestHowAProcessMayEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		may    func(*os.ProcessState) bool
		want   string // the violation; "" for none
	}{
		"by itself":            {"echo $0, start $1; exit 3", nil, "shell.1 ended by itself, with exit status 3: shell.1, start 1\n"},
		"in order, untold":     {"exit 0", nil, "shell.1 ended by itself, with exit status 0: "},
		"as it may":            {"exit 0", (*os.ProcessState).Success, ""},
		"as it may not":        {"exit 1", (*os.ProcessState).Success, "shell.1 ended by itself, with exit status 1: "},
		"killed by somebody":   {"kill -9 $$", nil, "shell.1 ended by itself, with signal: killed: "},
		"killed, which it may": {"kill -9 $$", func(s *os.ProcessState) bool { return EndedBy(s, syscall.SIGKILL) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, violations := shell(t, c.script)
			p.MayEnd = c.may
			if err := p.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(*violations, "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// replaceable is the script of a process that at SIGUSR2 starts another process, waits until that has written its ID to the PID file, and ends.
const replaceable = `
	trap 'sh -c "$2" "$0" "$1" "$2" & while [ "$(cat "$1")" != $! ]; do sleep 0.01; done; exit 0' USR2
	echo $$ >"$1.new"; mv "$1.new" "$1"
	while :; do sleep 0.01; done`

func TestProcessReplacesItself(t *testing.T) {
	t.Parallel()
	if err := BecomeSubreaper(); err != nil {
		t.Skip(err)
	}
	p, violations := shell(t, replaceable)
	p.PIDFile = filepath.Join(p.Folder, "pid")
	starts := make(chan int, 3)
	p.Command = func(name string, n int) []string {
		starts <- n
		return []string{"sh", "-c", replaceable, name, p.PIDFile, replaceable}
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		run := meanwhile.Go(ctx, p.Run)
		<-starts
		for range 2 {
			if err := soon(ctx, func() error { return p.Replace(ctx) }); err != nil {
				return err
			}
		}
		if len(starts) != 0 {
			t.Error("the process did not replace itself but was restarted")
		}
		if err := soon(ctx, func() error { return p.KillReplacing(ctx, 0) }); err != nil {
			return err
		}
		<-starts
		if err := soon(ctx, func() error { return p.Replace(ctx) }); err != nil {
			return err
		}
		return End(ctx, run)
	})
	if err != nil || len(*violations) != 0 {
		t.Errorf("got %v, violations %q", err, *violations)
	}
}
