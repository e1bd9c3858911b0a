//go:build unix

package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock locks a folder for one process that writes in it, until it is closed or the process ends.
func Lock(dir string) (*FolderLock, error) {
	return lock(dir, os.O_RDWR|os.O_CREATE, syscall.LOCK_EX)
}

// LockShared locks a folder for one of several readers, and so against writers. The folder must have been locked before.
func LockShared(dir string) (*FolderLock, error) { return lock(dir, os.O_RDONLY, syscall.LOCK_SH) }

func lock(dir string, flag, how int) (*FolderLock, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	// The previous holder may have removed the file between opening and locking.
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
	return &FolderLock{f}, nil
}

// unlock unlocks the folder immediately: closing the file is not enough while a child process that is being started has a copy of it.
func unlock(f *os.File) error {
	return os.NewSyscallError("flock "+f.Name(), syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
}
