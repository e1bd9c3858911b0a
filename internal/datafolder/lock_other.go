//go:build !unix

package datafolder

import (
	"errors"
	"os"
	"path/filepath"
)

// Lock locks a folder for one process that writes, with a file that cannot be removed or replaced while it is open, as on Windows.
func Lock(dir string) (*FolderLock, error) {
	path := filepath.Join(dir, "lock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, ErrLocked
	}
	return newLock(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600))
}

// LockShared locks a folder against writers, until it is closed. It does not detect an existing writer: the caller has to make sure that there is
// none. The folder must have been locked before.
func LockShared(dir string) (*FolderLock, error) { return newLock(os.Open(filepath.Join(dir, "lock"))) }

func newLock(f *os.File, err error) (*FolderLock, error) {
	if err != nil {
		return nil, err
	}
	return &FolderLock{f}, nil
}

func unlock(*os.File) error { return nil } // closing the file is enough
