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

const goneLimit = 30 * time.Second

// killServer ends the server of a data folder, if it runs; its processes end with the first one.
func killServer(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "postmaster.pid"))
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
	return waitGone(pid)
}

// waitGone waits until a process that is not the program's own child has ended.
func waitGone(pid int) error {
	for begun := time.Now(); time.Since(begun) < goneLimit; {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil
		}
		if err := meanwhile.Sleep(context.Background(), 20*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}
