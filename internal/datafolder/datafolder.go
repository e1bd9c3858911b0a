// Package datafolder changes data files so that they survive a loss of power, and locks their folders for one process.
package datafolder

import (
	"errors"
	"os"
)

// A FolderLock is held by who has locked a folder, see [Lock].
type FolderLock struct{ file *os.File }

// Close lets the folder go.
func (l *FolderLock) Close() error { return errors.Join(unlock(l.file), l.file.Close()) }

// ErrLocked is what [Lock] returns when another process, or another part of this one, has the folder.
var ErrLocked = errors.New("another process has it")

// Sync brings the names in a folder to disk, where the system can.
func Sync(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(folder), folder.Close())
}
