package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// An identity is which file a store has open. SQLite keeps the file that it opened, whatever becomes of its name: what is
// written after the name has gone, or leads to another file, nobody finds again.
type identity struct {
	path string // absolute, since the program may change its folder
	file fs.FileInfo
}

// identify notes the file that the path leads to now.
func identify(path string) (identity, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return identity{}, err
	}
	file, err := os.Stat(path)
	return identity{path, file}, err
}

// check returns an error when the path does not lead to the file any more. It costs one stat of about two microseconds, far less
// than a transaction. Other errors of stat tell nothing about the file, which is open.
func (i identity) check() error {
	now, err := os.Stat(i.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was deleted or moved while it was open: nothing is stored any more; put the file back, or restart the program", i.path)
	case err == nil && !os.SameFile(i.file, now):
		return fmt.Errorf("%s was replaced by another file while it was open: nothing is stored any more; restart the program", i.path)
	}
	return nil
}
