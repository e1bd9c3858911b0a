// Package datafolder changes data files so that they survive a loss of power, keeps their names short enough, and locks their folders for one
// process.
package datafolder

import (
	"errors"
	"os"
)

// A FolderLock is the lock of a folder, see [Lock].
type FolderLock struct{ file *os.File }

// Close unlocks the folder.
func (l *FolderLock) Close() error { return errors.Join(unlock(l.file), l.file.Close()) }

// ErrLocked is the error of [Lock] if another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("another process has it")

// Sync writes the names in a folder to disk, if the system supports it.
func Sync(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(folder), folder.Close())
}
