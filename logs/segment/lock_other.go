//go:build !unix

package segment

import (
	"os"
	"path/filepath"
)

// lockDir does not lock here: whoever starts the process sees to it that there is one.
func lockDir(dir string, readOnly bool) (*os.File, error) {
	if readOnly {
		return os.Open(filepath.Join(dir, "lock"))
	}
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

func isFull(error) bool { return false }
