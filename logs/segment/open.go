package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// open reads what is there.
func (s *Store) open() (err error) {
	if !s.readOnly {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
	}
	if s.lock, err = lockDir(s.dir, s.readOnly); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.letGo()
		}
	}()
	if !s.readOnly {
		for _, name := range []string{"journal", "services"} {
			if err := s.disk.mkdir(s.path(name)); err != nil {
				return err
			}
		}
	}
	if err := s.readCheckpoint(); err != nil {
		return err
	}
	if err := s.openSegments(); err != nil {
		return err
	}
	if err := s.openJournals(); err != nil {
		return err
	}
	for _, svc := range s.services {
		svc.written = svc.kept
	}
	if s.readOnly {
		return nil
	}
	if len(s.journals) == 0 {
		last, err := s.lastJournal()
		if err != nil {
			return err
		}
		j, err := createJournal(&s.disk, s.dir, last+1, time.Now())
		if err != nil {
			return full(err)
		}
		s.journals = append(s.journals, j)
	}
	s.active = s.journals[len(s.journals)-1]
	return nil
}

// lastJournal returns the highest number of the journals of which something is left: where one cannot be read, the next one has to
// be newer than what it was for retention by size.
func (s *Store) lastJournal() (last uint64, err error) {
	for _, svc := range s.services {
		for _, g := range svc.segments {
			last = max(last, g.journal)
		}
	}
	files, err := os.ReadDir(s.path("journal"))
	for _, file := range files { // those that were put aside
		name, _, _ := strings.Cut(file.Name(), ".")
		if n, err := strconv.ParseUint(name, 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return last, err
}

// openJournals reads the journals, of which all but the last one are to be turned yet, or were not deleted in time.
func (s *Store) openJournals() error {
	names, err := filepath.Glob(filepath.Join(escapeGlob(s.path("journal")), "*.journal"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.openJournal(name); err != nil {
			return fmt.Errorf("read journal %s: %w", name, err)
		}
	}
	return nil
}

func (s *Store) openJournal(path string) error {
	flag := os.O_RDWR
	if s.readOnly {
		flag = os.O_RDONLY
	}
	j, cut, err := scan(path, flag, func(j *journal, parts []part) {
		for _, p := range parts {
			if p.client != [16]byte{} {
				c := s.client(p.client)
				c.kept, c.heard = max(c.kept, p.until), 0
				c.written = c.kept
			}
			p.service = s.service(p.name)
			if p.last() <= p.service.lastInSegments() { // it was turned, and not deleted in time
				continue
			}
			j.add([]entry{p.entry})
		}
	}, func(at, bytes int64) {
		s.log().Error("a part of a journal is damaged, and is left out", "journal", path, "at", at, "bytes", bytes)
	})
	if errors.Is(err, errNoHead) {
		return s.putAside(path, cut)
	} else if err != nil {
		return err
	}
	if cut > 0 {
		s.log().Warn("the end of a journal was not whole, and is cut off", "journal", path, "bytes", cut, "kept", j.size)
	}
	if !s.readOnly { // what Last tells a client must be on disk, also if the process died before it was
		err := s.disk.sync(j.file)
		if cut > 0 {
			err = errors.Join(s.disk.truncate(j.file, j.size), s.disk.sync(j.file))
		}
		if err != nil {
			return errors.Join(err, j.file.Close())
		}
	}
	if len(s.journals) > 0 {
		last := s.journals[len(s.journals)-1]
		j.before = last.before + last.records
	}
	s.journals = append(s.journals, j)
	return nil
}

// putAside renames a journal whose beginning cannot be read. One without anything in it is deleted.
func (s *Store) putAside(path string, size int64) error {
	if size > int64(journalHead) {
		s.log().Error("a journal cannot be read, and is put aside", "journal", path, "bytes", size)
	}
	switch {
	case s.readOnly:
		return nil
	case size <= int64(journalHead):
		return s.disk.remove(path)
	}
	return s.disk.rename(path, path+".damaged")
}

// openSegments reads what the segments say about themselves.
func (s *Store) openSegments() error {
	dirs, err := os.ReadDir(s.path("services"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if dir.Type().IsRegular() {
			s.log().Warn("a file among the folders of services is nothing of this store, and is left alone", "file", s.path("services", dir.Name()))
			continue
		}
		files, err := os.ReadDir(s.path("services", dir.Name()))
		if err != nil {
			return err
		}
		if len(files) == 0 && !s.readOnly {
			_ = s.disk.remove(s.path("services", dir.Name()))
		}
		for _, file := range files {
			path := s.path("services", dir.Name(), file.Name())
			switch {
			case strings.HasSuffix(path, temporary):
				if !s.readOnly {
					_ = s.disk.remove(path)
				}
			case strings.HasSuffix(path, ".segment"):
				if err := s.openSegment(path); err != nil {
					return err
				}
			}
		}
	}
	for _, svc := range s.services {
		s.arrange(svc)
	}
	return nil
}

func (s *Store) openSegment(path string) error {
	seg, err := readSegment(path)
	if errors.Is(err, errDamaged) {
		s.brokenSegment(path, err)
		return nil
	} else if err != nil {
		return err
	}
	svc := s.service(seg.service)
	svc.segments = append(svc.segments, seg)
	return nil
}

// brokenSegment counts a segment that does not say what is in it.
func (s *Store) brokenSegment(path string, err error) {
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	s.log().Error("a segment cannot be read, and is left out", "segment", path, "bytes", size, "error", err)
	name, ok := unescapeName(filepath.Base(filepath.Dir(path)))
	if !ok {
		return
	}
	svc := s.service(name)
	svc.damaged += max(size, 1)
	if first, err := strconv.ParseUint(strings.SplitN(filepath.Base(path), "-", 2)[0], 10, 64); err == nil {
		svc.kept = max(svc.kept, first)
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
