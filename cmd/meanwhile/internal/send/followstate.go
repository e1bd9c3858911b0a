package send

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// A position is the offset up to which the server has a file. The file is identified by its device and inode, and its first bytes.
type position struct {
	Path   string `json:"path"`
	Real   string `json:"real,omitempty"` // path of the file, if Path has a symbolic link
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	Offset int64  `json:"offset"`
	Head   int    `json:"head"`           // number of first bytes
	Sum    string `json:"sum"`            // SHA-256 of the first bytes
	Over   bool   `json:"over,omitempty"` // the file was closed, since no pattern had matched it for a while
}

// positions is the content of a state file.
type positions struct {
	Version int        `json:"version"`
	Files   []position `json:"files"`
}

// A followState keeps the positions of files in a folder, which only one process may use at a time.
type followState struct {
	name string // of the state file
	lock *os.File

	mu     sync.Mutex
	unseen []position // positions of files that were not found since the start, or since they were closed
}

// openState reads the positions in a folder, which it creates if it is missing.
func openState(folder string) (*followState, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockState(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	s := &followState{name: filepath.Join(folder, "positions"), lock: lock}
	text, err := os.ReadFile(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	var p positions
	if err == nil {
		if json.Unmarshal(text, &p) != nil || p.Version != 1 {
			err = fmt.Errorf("%s is damaged: delete it to send the files from the start", s.name)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.unseen = p.Files
	return s, nil
}

// takePosition returns the position of a file that was found, and removes it.
func (s *followState) takePosition(path string, info os.FileInfo) (position, bool) {
	device, inode := fileID(info)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.unseen {
		if p.Device == device && p.Inode == inode && (inode != 0 || p.Path == path) {
			s.unseen = append(s.unseen[:i], s.unseen[i+1:]...)
			return p, true
		}
	}
	return position{}, false
}

// keep keeps the position of a file that is closed, and drops that of the file which was closed first if there are too many: each rotation
// may leave one.
func (s *followState) keep(p position) {
	p.Over = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unseen = append(s.unseen, p)
	over := 0
	for _, p := range s.unseen {
		if p.Over {
			over++
		}
	}
	if over > mostOver {
		first := slices.IndexFunc(s.unseen, func(p position) bool { return p.Over })
		s.unseen = slices.Delete(s.unseen, first, first+1)
	}
}

// knows reports whether there is a position for a file that may have more data.
func (s *followState) knows(info os.FileInfo) bool {
	device, inode := fileID(info)
	s.mu.Lock()
	defer s.mu.Unlock()
	return inode != 0 && slices.ContainsFunc(s.unseen, func(p position) bool { return !p.Over && p.Device == device && p.Inode == inode })
}

// folders returns the folders of files that may have more data.
func (s *followState) folders() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.unseen {
		if p.Over {
			continue
		}
		for _, path := range []string{p.Path, p.Real} {
			if folder := filepath.Dir(path); path != "" && !slices.Contains(all, folder) {
				all = append(all, folder)
			}
		}
	}
	return all
}

// with returns the positions of open files with those of files that do not exist at present, since their folder may appear again.
func (s *followState) with(open []position) []position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(open, s.unseen[max(0, len(s.unseen)+len(open)-mostPositions):]...)
}

// save replaces the positions, and has synced them to disk when it returns.
func (s *followState) save(files []position) error {
	text, err := json.Marshal(positions{Version: 1, Files: files})
	if err == nil {
		err = replaceFile(s.name, text)
	}
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}

func (s *followState) close() { _ = s.lock.Close() }

// replaceFile replaces a file; after a crash it has the old or the new content.
func replaceFile(name string, text []byte) error {
	file, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil || runtime.GOOS == "windows" { // which does not support syncing folders
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
