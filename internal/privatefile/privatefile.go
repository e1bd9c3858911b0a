// Package privatefile creates database files that only their owner can read. The library of a database would make them readable by everybody.
package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// mu is held while a file is created and closed. If another goroutine opened the file as a database in between, closing it here
// would release the locks that this process has on it.
var mu sync.Mutex

// Create creates an empty file that only its owner may read and write. A file that exists keeps its mode. SQLite gives its
// write-ahead log and the index of that log the mode of the database.
func Create(path string) error {
	mu.Lock()
	defer mu.Unlock()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // the error is returned by whoever opens it
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of a database: %w", err)
	}
	return file.Close()
}
