package linefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

const mostSearched = 64 << 20 // bytes of a file that another program has written to

// read reads the journal, and writes to the files the lines of its entries that are missing there. It returns the journal's files that
// have the old format. The caller holds mu.
func (j *Journal) read() (upgraded []string, err error) {
	numbers, last, err := j.folder.Numbers()
	if err != nil {
		return nil, err
	}
	j.number, j.files = last, map[string]*journaledFile{}
	open := map[string][]*journalEntry{}
	for _, n := range numbers {
		path := j.folder.Path(n)
		old, err := isOld(path)
		if err == nil && old {
			upgraded = append(upgraded, path)
			err = j.readOld(path, open)
		} else if err == nil {
			err = j.readFile(n, open)
		}
		if err != nil {
			return nil, err
		}
	}
	for path, entries := range open {
		if entries, err = j.repair(path, entries); err != nil {
			return nil, err
		}
		for _, e := range entries {
			j.note(e)
		}
	}
	return upgraded, nil
}

// readFile reads a file of the journal.
func (j *Journal) readFile(number uint64, open map[string][]*journalEntry) error {
	var found []*journalEntry
	file, err := j.folder.Open(number, func(table []byte) ([]journal.Part, func(int64), bool) {
		e, parts, ok := parseTable(table)
		return parts, func(at int64) {
			e.there.at = at
			found = append(found, e)
		}, ok
	})
	if file == nil {
		return err
	}
	j.old = append(j.old, file)
	for _, e := range found {
		e.there.in = file
		j.replay(e, open)
	}
	return nil
}

// readOld reads a file of the old format.
func (j *Journal) readOld(path string, open map[string][]*journalEntry) error {
	torn, err := readOld(path, func(e *journalEntry) { j.replay(e, open) })
	if torn > 0 {
		j.logger.Warn("logs: the end of a journal of line files was not whole, and is left out", "journal", path, "bytes", torn)
	}
	return err
}

// replay notes an entry that was read, and keeps in open those whose lines may be missing in the file.
func (j *Journal) replay(e *journalEntry, open map[string][]*journalEntry) {
	switch e.kind {
	case kindLines:
		open[e.path] = append(open[e.path], e)
		return
	case kindSettled:
		for _, e := range open[e.path] {
			j.note(e)
		}
		delete(open, e.path)
	}
	j.note(e)
}

// repair writes to a file the lines of entries that are missing there, and returns the entries whose numbers count.
func (j *Journal) repair(path string, entries []*journalEntry) ([]*journalEntry, error) {
	last := entries[len(entries)-1]
	name, err := findFile(path, last.inode)
	if err != nil {
		return nil, err
	}
	if name == "" {
		// If its lines were acknowledged they were in the file, and no client sends them again.
		j.logger.Warn("logs: a line file is not there any more; what was on its way into it may come again", "file", path)
		for len(entries) > 0 && slices.Equal(entries[len(entries)-1].received, last.received) { // also those that began in another file
			entries = entries[:len(entries)-1]
		}
		return entries, nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	changed := false
	for _, e := range ofOneFile(entries) {
		missing, err := j.missing(f, e)
		if err == nil && len(missing) > 0 {
			_, err = f.Write(missing)
			changed = true
		}
		if err != nil {
			return nil, err
		}
	}
	if changed {
		// Its time shows whether it is of an earlier day.
		_ = os.Chtimes(name, time.Time{}, info.ModTime())
	}
	if !j.folder.Lazy {
		err = f.Sync()
	}
	return entries, err
}

// ofOneFile returns the entries that are for the same file as the last one. Earlier files had their lines when they were rotated or
// closed. The inode alone does not identify a file: it may have been reused, and some systems do not report one.
func ofOneFile(entries []*journalEntry) []*journalEntry {
	begin := len(entries) - 1
	for ; begin > 0; begin-- {
		before, e := entries[begin-1], entries[begin]
		rest := slices.Equal(e.received, before.received) && e.there.size < before.there.size // the lines that did not fit into that file
		if rest || e.inode != before.inode {
			break
		}
	}
	return entries[begin:]
}

// missing returns the lines of an entry that a file does not have: the last ones, or, if another program has changed the file, all unless
// they are found in it.
func (j *Journal) missing(f *os.File, e *journalEntry) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	lines, err := readFrom(e.there.in, e.there.at, e.there.size)
	if err != nil {
		return nil, err
	}
	there, err := readFrom(f, e.off, min(e.there.size, info.Size()-e.off))
	if err != nil {
		return nil, err
	}
	if e.off <= info.Size() && bytes.HasPrefix(lines, there) {
		return lines[len(there):], nil
	}
	if there, err = readFrom(f, e.off, min(mostSearched, info.Size()-e.off)); err != nil {
		return nil, err
	}
	if bytes.Contains(there, lines) {
		return nil, nil
	}
	j.logger.Warn("logs: somebody else has changed a line file; what was on its way into it is added", "file", f.Name(), "bytes", len(lines))
	if torn, err := tornLine(f, info); !torn || err != nil {
		return lines, err
	}
	return append([]byte("\n"), lines...), nil
}

// readFrom reads size bytes, or none if size is not positive.
func readFrom(f io.ReaderAt, off, size int64) ([]byte, error) {
	if size <= 0 {
		return nil, nil
	}
	b := make([]byte, size)
	_, err := f.ReadAt(b, off)
	return b, err
}

// tornLine reports whether a file ends within a line.
func tornLine(f io.ReaderAt, info fs.FileInfo) (bool, error) {
	last, err := readFrom(f, info.Size()-1, min(1, info.Size()))
	return len(last) == 1 && last[0] != '\n', err
}

// findFile returns the path of a line file, which may have been renamed in its folder since; "" if it is gone.
func findFile(path string, inode uint64) (string, error) {
	if info, err := os.Stat(path); err == nil && inodeOf(info) == inode {
		return path, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	} else if inode == 0 {
		return "", nil
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && inodeOf(info) == inode {
			return filepath.Join(filepath.Dir(path), entry.Name()), nil
		}
	}
	return "", err
}
