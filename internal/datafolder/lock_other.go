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
