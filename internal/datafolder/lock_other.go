//go:build !unix

package datafolder

import (
	"errors"
	"os"
	"path/filepath"
)

// Lock locks a folder by a file that cannot be removed or made again while it is open, as on Windows.
func Lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, ErrLocked
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// LockShared keeps a folder from being locked by one who writes, while the file is open. It cannot see whether it is locked: whoever starts the
// process sees to that. The folder has been locked before.
func LockShared(dir string) (*os.File, error) { return os.Open(filepath.Join(dir, "lock")) }
