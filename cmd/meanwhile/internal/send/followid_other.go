//go:build !unix

package send

import (
	"errors"
	"io/fs"
	"os"
)

// fileID returns zeros: a file is identified by its name and its first bytes.
func fileID(os.FileInfo) (device, inode uint64) { return 0, 0 }

// exists returns false: it is not known whether an open file has a name.
func exists(os.FileInfo) bool { return false }

// lockState locks a state with a file that cannot be removed while it is open, as on Windows.
func lockState(name string) (*os.File, error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("another process has it; give each its own")
	}
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
