//go:build unix

package harm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A Guard is a process that cleans up after the program. The program reports mounts and servers to it before they exist, and folders and processes
// right after; the guard removes them when the program ends, also when it is killed.
type Guard struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	err strings.Builder
}

// The words of a report, each with one argument.
const (
	HasFolder  = "folder"  // to be removed
	HasMount   = "mount"   // to be unmounted
	HasServer  = "server"  // to be stopped; the ID of its process is in the file postmaster.pid of the folder
	HasProcess = "process" // to be killed
	HasEnded   = "ended"   // a process, which needs no cleanup any more
)

// StartGuard starts a guard: this program with the arguments -role guard, which must then call [GuardUntil].
func StartGuard() (*Guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &Guard{cmd: exec.Command(self, "-role", "guard")}
	g.cmd.Stderr = &g.err
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return g, nil
}

// Report reports something to clean up, or with [HasEnded] that a process has ended.
func (g *Guard) Report(word, what string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := fmt.Fprintln(g.in, word, what); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// End makes the guard clean up, and waits until it has.
func (g *Guard) End() error {
	err := errors.Join(g.in.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("clean up: %w: %s", err, strings.TrimSpace(g.err.String()))
	}
	return nil
}

// GuardUntil is what the process of the guard runs: it reads reports until the end of in, and then cleans up.
func GuardUntil(in io.Reader) error {
	var things [][2]string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, what, _ := strings.Cut(lines.Text(), " ")
		if word == HasEnded {
			things = slices.DeleteFunc(things, func(t [2]string) bool { return t == [2]string{HasProcess, what} })
			continue
		}
		things = append(things, [2]string{word, what})
	}
	errs := []error{lines.Err()}
	for _, t := range slices.Backward(things) {
		if err := remove(t[0], t[1]); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", t[0], t[1], err))
		}
	}
	return errors.Join(errs...)
}

func remove(word, what string) error {
	switch word {
	case HasFolder:
		return os.RemoveAll(what)
	case HasMount:
		return unmount(what)
	case HasServer:
		return killServer(what)
	case HasProcess:
		pid, err := strconv.Atoi(what)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return nil
	}
	return fmt.Errorf("%q is not understood", word)
}
