//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// Escape sequences that start and end a full screen.
const (
	enterScreen = "\x1b[?1049h"
	leaveScreen = "\x1b[?1049l"
	showCursor  = "\x1b[?25h"
)

// A console runs the command in a terminal.
type console struct {
	*testing.T
	cmd    *exec.Cmd
	mine   *os.File // our side of the terminal
	theirs *os.File
	before *term.State
	got    bytes.Buffer // all output of the command
}

func startTop(t *testing.T, env []string, args ...string) *console {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	mine := withDeadlines(t, ours)
	t.Cleanup(func() { _ = mine.Close(); _ = ours.Close(); _ = theirs.Close() })
	c := &console{T: t, mine: mine, theirs: theirs}
	c.setSize(80)
	if c.before, err = term.GetState(int(theirs.Fd())); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"top"}, args...)...)
	cmd.Env = append(append(os.Environ(), "MEANWHILE_TEST_MAIN=1", "TERM=xterm-256color", "TMUX=", "NO_COLOR="), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c.cmd = cmd
	return c
}

// withDeadlines returns the same file with support for read deadlines.
func withDeadlines(t *testing.T, f *os.File) *os.File {
	t.Helper()
	number, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(number, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(number), f.Name())
}

// await reads until text is written, or fails. Only changes are drawn, so that a text may never arrive in one piece; but after a
// change of the size everything is drawn.
func (t *console) await(text string) {
	t.Helper()
	from := t.got.Len()
	chunk := make([]byte, 4096)
	for tries := 0; !bytes.Contains(t.got.Bytes()[from:], []byte(text)); {
		if err := t.mine.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := t.mine.Read(chunk)
		t.got.Write(chunk[:n])
		if err == nil {
			continue
		}
		if tries++; !errors.Is(err, os.ErrDeadlineExceeded) || tries > 300 {
			t.Fatalf("%v before the output had %q:\n%q", err, text, t.got.Bytes()[from:])
		}
		t.setSize(uint16(80 + tries%2))
	}
}

func (t *console) setSize(columns uint16) {
	t.Helper()
	if err := pty.Setsize(t.theirs, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
}

func (t *console) press(keys string) {
	t.Helper()
	if _, err := t.mine.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// checkEnd checks the exit code, and that the terminal was restored.
func (t *console) checkEnd(code int) {
	t.Helper()
	_ = t.cmd.Wait()
	if got := t.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("got exit code %d, want %d:\n%q", got, code, t.got.String())
	}
	after, err := term.GetState(int(t.theirs.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(after, t.before) {
		t.Errorf("the mode of the terminal is %+v, was %+v", after, t.before)
	}
	text := t.got.String()
	if strings.LastIndex(text, leaveScreen) < strings.LastIndex(text, enterScreen) ||
		strings.LastIndex(text, showCursor) < strings.LastIndex(text, "\x1b[?25l") {
		t.Errorf("the screen was not restored:\n%q", text)
	}
}

// napping runs tasks and serves their tree at address; nap is one of them.
func napping(t *testing.T, f func(address string, nap *meanwhile.Task[struct{}])) {
	t.Helper()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		nap := meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name("long nap"))
		defer nap.Cancel(nil)
		inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
		server := httptest.NewServer(live.Handler(live.Config{CancelToken: "sesame"}))
		defer server.Close()
		f(server.URL+"/", nap)
		return nil
	}, meanwhile.Name("shop"))
	if err != nil {
		t.Error(err)
	}
}

func TestTop(t *testing.T) {
	napping(t, func(address string, nap *meanwhile.Task[struct{}]) {
		s := startTop(t, []string{"MEANWHILE_CANCEL_TOKEN=sesame"}, "--every", "1s", address)
		s.await(enterScreen)
		s.await("long nap")
		s.press("?")
		s.await("PgUp PgDn")
		s.press("\x1b") // recognized as a single key since nothing follows
		s.await("long nap")
		s.press("s")
		s.await("shop/long nap: ")
		s.press("\x1b")
		s.await("tree order")
		s.press("j\r")
		s.await("Stack, the innermost")
		s.press("c")
		s.await("Cancel shop/long nap? (y/n)")
		s.press("y")
		select {
		case <-nap.Done():
		case <-time.After(time.Minute):
			t.Error("the task was not canceled")
		}
		s.await("The task has ended.")
		s.press("q")
		s.await(leaveScreen)
		s.checkEnd(0)
	})
}

// colored matches the sequences for red, green and yellow text.
var colored = regexp.MustCompile("\x1b\\[([0-9;]*;)?3[123](;[0-9;]*)?m")

func TestTopWithoutColor(t *testing.T) {
	napping(t, func(address string, _ *meanwhile.Task[struct{}]) {
		s := startTop(t, []string{"NO_COLOR=please"}, address)
		s.await("long nap")
		s.press("\x03")
		s.await(leaveScreen)
		s.checkEnd(0)
		if color := colored.FindString(s.got.String()); color != "" {
			t.Errorf("%q is in\n%q", color, s.got.String())
		}
	})
}

func TestTopEndsBySignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		napping(t, func(address string, _ *meanwhile.Task[struct{}]) {
			s := startTop(t, nil, address)
			s.await("long nap")
			if err := s.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			s.await(leaveScreen)
			s.checkEnd(130)
		})
	}
}

// TestTopWithoutAnAnswer: the error about a wrong address stays visible.
func TestTopWithoutAnAnswer(t *testing.T) {
	s := startTop(t, nil, "127.0.0.1:1")
	s.await("nothing answers at http://127.0.0.1:1/debug/meanwhile (connection refused)")
	s.checkEnd(1)
	if strings.Contains(s.got.String(), "\x1b") {
		t.Errorf("the full screen was entered:\n%q", s.got.String())
	}
}
