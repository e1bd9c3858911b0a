//go:build unix

package logs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

var errLocked = errors.New("another process has it")

// lockFolder locks a folder for one who writes in it, until the file is closed or the process ends.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, err
	}
	// Who had it before may have removed the file between opening and locking.
	ours, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(ours, there) {
			err = errLocked
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
