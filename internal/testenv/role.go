package testenv

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const roleVariable = "MEANWHILE_TEST_ROLE"

// A Role is another process of the test binary, which a test may kill. It runs TestRole alone, which does what [RoleArgs] say and exits.
type Role struct {
	Cmd   *exec.Cmd
	Lines chan string // that it has printed; closed when it has ended
}

// RoleArgs returns the arguments of the call of [StartRole] that started this process; nothing in a test that does not run as a role.
func RoleArgs() []string { return strings.Fields(os.Getenv(roleVariable)) }

// StartRole starts a role with arguments, which must not have spaces. It is killed when the test ends.
func StartRole(t *testing.T, args ...string) *Role {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRole$")
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &Role{Cmd: cmd, Lines: make(chan string, 1<<16)}
	go func() {
		defer close(r.Lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.Lines <- s.Text()
		}
	}()
	t.Cleanup(func() { r.Kill() })
	return r
}

// Kill kills the process, and returns the lines that no Wait has read.
func (r *Role) Kill() (lines []string) {
	_ = r.Cmd.Process.Kill()
	for line := range r.Lines {
		lines = append(lines, line)
	}
	_ = r.Cmd.Wait()
	return lines
}

// Wait waits for a line with a prefix, and returns what follows the prefix.
func (r *Role) Wait(t *testing.T, prefix string) string {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case line, ok := <-r.Lines:
			if !ok {
				t.Fatalf("the role ended before it printed %q", prefix)
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
		case <-timeout:
			t.Fatalf("the role has not printed %q within a minute", prefix)
		}
	}
}
