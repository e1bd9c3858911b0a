//go:build !unix

package logs

import (
	"errors"
	"os"
	"path/filepath"
)

var errLocked = errors.New("another process has it")

// lockFolder locks a folder by a file that cannot be removed or made again while it is open, as on Windows.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errLocked
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
