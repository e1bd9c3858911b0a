//go:build !unix

package datafolder

import (
	"errors"
	"os"
	"path/filepath"
)

// Lock locks a folder by a file that cannot be removed or made again while it is open, as on Windows.
func Lock(dir string) (*FolderLock, error) {
	path := filepath.Join(dir, "lock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, ErrLocked
	}
	return held(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600))
}

// LockShared keeps a folder from being locked by one who writes, until it is closed. It cannot see whether it is locked: whoever starts the
// process sees to that. The folder has been locked before.
func LockShared(dir string) (*FolderLock, error) { return held(os.Open(filepath.Join(dir, "lock"))) }

func held(f *os.File, err error) (*FolderLock, error) {
	if err != nil {
		return nil, err
	}
	return &FolderLock{f}, nil
}

func unlock(*os.File) error { return nil } // to close it is enough
