// Package datafolder locks folders of data files for one process, and brings the names in them to disk.
package datafolder

import (
	"errors"
	"os"
)

// ErrLocked is what [Lock] returns when another process, or another part of this one, has the folder.
var ErrLocked = errors.New("another process has it")

// Sync brings the names in a folder to disk.
func Sync(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
