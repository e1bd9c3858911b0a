//go:build unix

package harm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const goneLimit = 120 * time.Second

// killServer ends the PostgreSQL server of a data folder, if it runs. Its other processes end with its first one.
func killServer(folder string) error {
	file := filepath.Join(folder, "postmaster.pid")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return waitGone(file, pid)
}

// waitGone waits until a server has ended, which then removes its file. Its process is no child of this one and may remain a zombie forever: not
// every container has an init process that waits for orphans.
func waitGone(file string, pid int) error {
	for begun := time.Now(); time.Since(begun) < goneLimit; {
		_, err := os.Stat(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil
		}
		if err := meanwhile.Sleep(context.Background(), 20*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}
