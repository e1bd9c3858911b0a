package forward

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// A cursor is the content of a forwarder's cursor file, as JSON.
type cursor struct {
	Version int               `json:"version"`
	Next    map[string]uint64 `json:"next"` // by service, the number of the record that is sent next
}

// readCursor reads the cursor file, and returns nil if there is none.
func readCursor(name string) (next map[string]uint64, err error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cursor of a forwarder: %w", err)
	}
	var c cursor
	if err := json.Unmarshal(text, &c); err != nil || c.Version != 1 || c.Next == nil {
		return nil, fmt.Errorf("the cursor of a forwarder, %s, is damaged: without it, everything that is stored is sent again", name)
	}
	return c.Next, nil
}

// save writes the cursor if it has changed.
func (f *Forwarder) save() error {
	f.mu.Lock()
	if f.saved || f.Cursor == "" {
		f.mu.Unlock()
		return nil
	}
	c := cursor{Version: 1, Next: make(map[string]uint64, len(f.services))}
	for service, s := range f.services {
		c.Next[service] = s.next
	}
	f.saved = true
	f.mu.Unlock()
	text, err := json.Marshal(c)
	if err == nil {
		err = f.write(text)
	}
	if err != nil {
		f.mu.Lock()
		f.saved = false
		f.mu.Unlock()
		return fmt.Errorf("save the cursor of a forwarder: %w", err)
	}
	return nil
}

// write replaces the cursor file atomically, and syncs it: after a crash it is the old or the new one.
func (f *Forwarder) write(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Cursor), 0o700); err != nil {
		return err
	}
	var disk datafolder.Disk
	return disk.WriteFile(f.Cursor, text)
}
