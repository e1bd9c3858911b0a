//go:build unix

package datafolder

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Lock locks a folder for one who writes in it, until the file is closed or the process ends.
func Lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, err
	}
	// Who had it before may have removed the file between opening and locking.
	ours, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(ours, there) {
			err = ErrLocked
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
