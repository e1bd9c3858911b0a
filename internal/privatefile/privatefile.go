// Package privatefile makes the files of databases, which the library of a database would make readable by everybody.
package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// mu is held while a file is made and closed: closing one would take away the locks that this process has on it by then, if
// another goroutine had opened it as a database in between.
var mu sync.Mutex

// Create makes an empty file that its owner alone may read and write, unless there is one, which keeps its mode. SQLite gives
// its write-ahead log and the index of that the mode of the database.
func Create(path string) error {
	mu.Lock()
	defer mu.Unlock()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // whoever opens it says what is wrong with it
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of a database: %w", err)
	}
	return file.Close()
}
