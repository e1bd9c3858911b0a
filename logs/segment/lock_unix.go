//go:build unix

package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir holds a directory for this process, until the file is closed. The system lets go of it when the process dies.
// Several may hold it who only read.
func lockDir(dir string, readOnly bool) (*os.File, error) {
	flag, how := os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
	if readOnly {
		flag, how = os.O_RDONLY, syscall.LOCK_SH
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) && readOnly {
			return nil, fmt.Errorf("a server uses %s: ask that one, or read the folder when it has ended", dir)
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process, or another store of this one, uses %s", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// isFull reports whether an error says that there is no room on disk.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
