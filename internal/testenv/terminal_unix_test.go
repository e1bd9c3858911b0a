//go:build unix

package testenv

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// report writes a line to the controlling terminal of the process, if there is one. It neither stops a background job, whose writes a terminal may
// refuse with SIGTTOU, nor waits for a terminal whose output is stopped.
func report(line string) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	f, err := os.OpenFile("/dev/tty", os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_ = f.SetWriteDeadline(time.Now().Add(time.Second)) // a terminal without deadlines needs only O_NONBLOCK
	_, _ = f.WriteString(line + "\n")
}

// inTerminal runs a shell script in a new terminal, without PostgreSQL, and returns what the terminal shows until the script has ended. The keys are
// pressed before; $TESTS is the test binary of this package.
func inTerminal(t *testing.T, keys, script string) string {
	t.Helper()
	sh := Program(t, "sh")
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	defer ours.Close()
	if _, err := ours.WriteString(keys); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sh, "-c", script)
	cmd.Env = append(os.Environ(), "TESTS="+os.Args[0], "MEANWHILE_POSTGRES=postgres://postgres@127.0.0.1:1/", "MEANWHILE_CI=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() { // ends with the script, which closes the terminal
		var all bytes.Buffer
		_, _ = all.ReadFrom(ours)
		shown <- all.String()
	}()
	killer := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer killer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the script: %v", err)
	}
	return <-shown
}

// runSkipped runs TestSkipped with its output in a file.
const runSkipped = `"$TESTS" -test.run='^TestSkipped$' >file 2>&1`

func TestSkippedIsReportedInATerminal(t *testing.T) {
	const run = runSkipped
	for name, script := range map[string]string{
		"in the foreground":                  run,
		"in the background":                  "set -m; " + run + " & wait $!",
		"in the background, which must not":  "stty tostop; set -m; " + run + " & wait $!",
		"without input, as with nohup":       "trap '' HUP; " + run + " </dev/null",
		"when it is run twice, for each run": run + " && " + run,
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			shown := inTerminal(t, "", script)
			want := 1
			if strings.Contains(name, "twice") {
				want = 2
			}
			if got := strings.Count(shown, "skipped tests: "); got != want || strings.Count(shown, "\n") != want {
				t.Errorf("got %d lines, want %d: %q", got, want, shown)
			}
			if out, err := os.ReadFile("file"); err != nil || strings.Contains(string(out), "skipped tests") {
				t.Errorf("the output of the tests is %q, %v", out, err)
			}
		})
	}
}

// TestSkippedWhereATerminalIsHeld: the test ends although Ctrl-S has stopped the output of the terminal.
func TestSkippedWhereATerminalIsHeld(t *testing.T) {
	LongTest(t)
	t.Chdir(t.TempDir())
	inTerminal(t, "\x13", runSkipped)
	if out, err := os.ReadFile("file"); err != nil || !strings.HasPrefix(string(out), "PASS\n") {
		t.Errorf("the output of the tests is %q, %v", out, err)
	}
}

// TestSkippedWithoutATerminal: without a terminal, the line is only shown as the reason why the test skips.
func TestSkippedWithoutATerminal(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSkipped$", "-test.v")
	cmd.Env = append(os.Environ(), "MEANWHILE_POSTGRES=postgres://postgres@127.0.0.1:1/", "MEANWHILE_CI=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "skipped tests: ") != 1 || !strings.Contains(string(out), "--- SKIP") {
		t.Errorf("got %v\n%s", err, out)
	}
}
