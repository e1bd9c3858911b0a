package segment

import (
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// lockDir locks a directory for this process, until the lock is closed. The system releases the lock when the process dies. Several
// readers may have it at once.
func lockDir(dir string, readOnly bool) (*datafolder.FolderLock, error) {
	if readOnly {
		f, err := datafolder.LockShared(dir)
		if errors.Is(err, datafolder.ErrLocked) {
			err = fmt.Errorf("a server uses %s: ask that one, or read the folder when it has ended", dir)
		}
		return f, err
	}
	f, err := datafolder.Lock(dir)
	if errors.Is(err, datafolder.ErrLocked) {
		err = fmt.Errorf("another process, or another store of this one, uses %s", dir)
	}
	return f, err
}
