//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A wrapped program is run by "meanwhile logs send", in its own folder, with the address of a server that does not answer.
type wrapped struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	out    bytes.Buffer
	begun  time.Time
	exited chan error
}

// wrap runs a shell script with "meanwhile logs send", as a process without a terminal. The command before it may be empty.
func wrap(t *testing.T, before, script string, flags ...string) *wrapped {
	t.Helper()
	w := wrapper(t, before, script, flags...)
	w.start()
	return w
}

// wrapper is wrap without the start of the process.
func wrapper(t *testing.T, before, script string, flags ...string) *wrapped {
	t.Helper()
	w := &wrapped{t: t, dir: t.TempDir(), exited: make(chan error, 1), begun: time.Now()}
	args := append([]string{"logs", "send", "--to", "tcp://127.0.0.1:1", "--tee"}, flags...)
	args = append(args, "--", "sh", "-c", script)
	w.cmd = exec.Command(os.Args[0], args...)
	if before != "" {
		w.cmd = exec.Command("sh", append([]string{"-c", before + `; exec "$0" "$@"`, os.Args[0]}, args...)...)
	}
	w.cmd.Dir = w.dir
	w.cmd.Env = append(os.Environ(), "MEANWHILE_TEST_MAIN=1", "HOME="+w.dir)
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.out
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return w
}

func (w *wrapped) start() {
	w.t.Helper()
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { w.exited <- w.cmd.Wait() }()
	w.t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		if text, err := os.ReadFile(filepath.Join(w.dir, "pid")); err == nil { // of the program, which the wrapper may have left running
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

// await waits until the program has written a line to a file, which the shell creates before that, and returns the line.
func (w *wrapped) await(name string) string {
	w.t.Helper()
	for ended := false; ; {
		text, err := os.ReadFile(filepath.Join(w.dir, name))
		if err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return string(text)
		}
		select {
		case err := <-w.exited:
			w.exited <- err // for code
			if ended {
				w.t.Fatalf("the program ended before it wrote %s: %v, %.500q", name, err, w.out.String())
			}
			ended = true // it may have written the line in the meantime
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(w.begun) > time.Minute {
			w.t.Fatalf("the program did not write %s within a minute", name)
		}
	}
}

func (w *wrapped) signal(sig os.Signal) {
	w.t.Helper()
	if err := w.cmd.Process.Signal(sig); err != nil {
		w.t.Fatal(err)
	}
}

// code waits for the end of the process, and returns its exit code.
func (w *wrapped) code() int {
	w.t.Helper()
	select {
	case err := <-w.exited:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		} else if err != nil {
			w.t.Fatal(err)
		}
		return 0
	case <-time.After(time.Minute):
		w.t.Fatal("the program has not ended within a minute")
		return 0
	}
}

// TestSendRunsTheProgramToItsEnd: whatever happens to the records, the program runs to its end: all its output is read, and its
// exit code is kept.
func TestSendRunsTheProgramToItsEnd(t *testing.T) {
	t.Parallel()
	const much = `i=0; while [ $i -lt 12 ]; do head -c 1000000 /dev/zero | tr '\0' x | fold -w 10000; echo; i=$((i+1)); done; `
	notFolder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notFolder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		script string
		flags  []string
	}{
		"services without valid names": {script: `echo '{"service":"a\u0007b","msg":"x"}'; printf '{"service":"\377\376","msg":"x"}\n'; echo '{"service":"` + strings.Repeat("n", 200) + `","msg":"x"}'; sleep 0.2; `, flags: []string{"--spool", "off"}},
		"lines that are not JSON":      {script: `echo '{"msg":'; echo '{}{'; printf '\000\377\n'; `, flags: []string{"--spool", "off"}},
		"lines that are too long":      {script: `head -c 2000000 /dev/zero | tr '\0' x; echo; `, flags: []string{"--spool", "off"}},
		"memory is full":               {script: much, flags: []string{"--spool", "off"}},
		"the spool is full":            {script: much, flags: []string{"--spool", "spool", "--spool-bytes", "100000"}},
		"the spool cannot be written":  {script: much, flags: []string{"--spool", notFolder}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "the spool") {
				testenv.LongTest(t)
			}
			t.Parallel()
			w := wrap(t, "", test.script+"echo after; echo >done; exit 7", append(test.flags, "--wait", "100ms")...)
			w.await("done")
			if code := w.code(); code != 7 || !strings.Contains(w.out.String(), "after\n") {
				t.Errorf("exit code %d, %.1000q", code, w.out.String())
			}
		})
	}
}

// TestSendPassesTermOnWhenMemoryIsFull: TERM ends a program that writes endlessly, and the wrapper, while memory is full and
// records are not accepted.
func TestSendPassesTermOnWhenMemoryIsFull(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	for name, end := range map[string]struct {
		trap string
		code int
	}{
		"as the default":          {"", 128 + 15},
		"with a handler":          {`trap 'echo last words; exit 9' TERM; `, 9},
		"and more that it writes": {`trap 'head -c 300000 /dev/zero | tr "\0" x; exit 9' TERM; `, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const line = "0123456789012345678901234567890123456789012345678901234567890123456789"
			script := end.trap + "echo $$ >pid; i=0; while :; do echo " + strings.Repeat(line, 100) + "; i=$((i+1)); [ $i -eq 3000 ] && echo >full; done"
			w := wrap(t, "", script, "--spool", "off", "--wait", "100ms")
			w.await("full") // 21 MB of lines
			w.signal(syscall.SIGTERM)
			if code := w.code(); code != end.code {
				t.Errorf("exit code %d, want %d", code, end.code)
			}
			if got := w.out.String(); !droppedAtTheEnd.MatchString(got) {
				t.Errorf("the report is %q, without the records that were dropped while memory was full", got)
			}
		})
	}
}

var droppedAtTheEnd = regexp.MustCompile(`[1-9]\d* log records were not sent, and there is no spool; before that, [1-9]\d{2,} records were dropped`)

// TestSendPassesSignalsOn: the program gets the signals that the wrapper gets.
func TestSendPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wrap(t, "", fmt.Sprintf(`trap 'exit 9' %s; echo $$ >pid; while :; do sleep 0.02; done`, name), "--spool", "off", "--wait", "100ms")
			w.await("pid")
			w.signal(sig)
			if code := w.code(); code != 9 {
				t.Errorf("exit code %d, want 9: %s", code, w.out.String())
			}
		})
	}
}

// TestSendInATerminal: a signal reaches the program once, whether the terminal sends it to wrapper and program, or somebody to the wrapper
// alone which the terminal does not know, and wherever the input comes from.
func TestSendInATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		foreground, input bool // the terminal is that of the process; it is its input
	}{
		"foreground":                    {true, true},
		"foreground, another input":     {true, false},
		"the terminal is only an input": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs, err := pty.Open()
			if err != nil {
				t.Skip(err)
			}
			defer func() { _, _ = theirs.Close(), ours.Close() }()
			w := wrapper(t, "", `n=0; trap 'n=$((n+1)); echo >got' INT; trap 'echo $n >n; exit 9' USR1; echo $$ >pid; while :; do sleep 0.02; done`, "--spool", "off", "--wait", "100ms")
			w.cmd.ExtraFiles = []*os.File{theirs}
			w.cmd.SysProcAttr.Setctty, w.cmd.SysProcAttr.Ctty = test.foreground, 3
			if test.input {
				w.cmd.Stdin = theirs
			}
			w.start()
			w.await("pid")
			if test.foreground {
				_, err = ours.WriteString("\x03") // ctrl-C
			} else {
				err = w.cmd.Process.Signal(os.Interrupt)
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.foreground {
				w.await("got")
			}
			w.signal(syscall.SIGUSR1) // which is passed on after INT
			if n := w.await("n"); n != "1\n" {
				t.Errorf("the program got INT %s times, want once", strings.TrimSpace(n))
			}
			if code := w.code(); code != 9 {
				t.Errorf("exit code %d, want 9: %s", code, w.out.String())
			}
		})
	}
}

// TestSendLeavesIgnoredSignals: signals that the wrapper was started with as ignored, as with nohup and HUP, are also ignored by the program.
func TestSendLeavesIgnoredSignals(t *testing.T) {
	t.Parallel()
	w := wrap(t, `trap "" HUP`, `echo $$ >pid; while ! [ -e end ]; do sleep 0.02; done; exit 9`, "--spool", "off", "--wait", "100ms")
	w.await("pid")
	w.signal(syscall.SIGHUP)
	w.signal(syscall.SIGUSR1) // which would end the program if it arrived
	if code := w.code(); code != 128+int(syscall.SIGUSR1) {
		t.Errorf("exit code %d, want that of USR1", code)
	}
}

// TestSendTellsDeathBySignal: for a program that was ended by a signal, the exit code is the same as in a shell.
func TestSendTellsDeathBySignal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"KILL": 128 + 9, "TERM": 128 + 15, "SEGV": 128 + 11} {
		if code := wrap(t, "", "kill -"+name+" $$", "--spool", "off", "--wait", "100ms").code(); code != want {
			t.Errorf("%s: exit code %d, want %d", name, code, want)
		}
	}
}

// TestSendKeepsTheExitCodeAfterTheEnd: after the program has ended, signals only end the wait for the server: the exit code is
// that of the program.
func TestSendKeepsTheExitCodeAfterTheEnd(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := wrap(t, "", "echo line; echo $$ >began; exit 5", "--spool", "off", "--wait", "3s")
			pid, err := strconv.Atoi(strings.TrimSpace(w.await("began")))
			for err == nil {
				if err = syscall.Kill(pid, 0); err == nil {
					<-time.After(time.Millisecond)
				}
			}
			if !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
			w.signal(sig)
			if code := w.code(); code != 5 {
				t.Errorf("exit code %d, want 5: %s", code, w.out.String())
			}
		})
	}
}
