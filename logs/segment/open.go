package segment

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// open locks the directory, and reads the checkpoint, the segments and the journals.
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
			if err := s.disk.Mkdir(s.path(name)); err != nil {
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
	last, err := s.openJournals()
	if err != nil {
		return err
	}
	for _, svc := range s.services {
		svc.written = svc.kept
	}
	if s.readOnly {
		return nil
	}
	if len(s.journals) == 0 {
		// If a journal could not be read, the next one needs a higher number than all segments have, for retention by size.
		for _, svc := range s.services {
			for _, g := range svc.segments {
				last = max(last, g.journal)
			}
		}
		j, err := s.createJournal(last+1, time.Now())
		if err != nil {
			return full(err)
		}
		s.journals = append(s.journals, j)
	}
	s.active = s.journals[len(s.journals)-1]
	return nil
}

// openJournals reads the journals. All but the last one are still to be converted, or were not deleted in time. It returns the highest
// number that there was.
func (s *Store) openJournals() (last uint64, err error) {
	numbers, last, err := s.journalFolder.Numbers()
	for _, number := range numbers {
		if err == nil {
			err = s.openJournal(number)
		}
	}
	return last, err
}

func (s *Store) openJournal(number uint64) error {
	var found []entry
	f, err := s.journalFolder.Open(number, func(table []byte) ([]journal.Part, func(int64), bool) {
		parts, ok := parseTable(table)
		return layout(parts), func(at int64) {
			for _, p := range parts {
				if p.client != [16]byte{} {
					c := s.client(p.client)
					c.kept, c.lastSeen = max(c.kept, p.until), 0
					c.written = c.kept
				}
				p.service = s.service(p.name)
				if p.last() <= p.service.lastInSegments() { // it was converted, and not deleted in time
					continue
				}
				p.off += at
				found = append(found, p.entry)
			}
		}, ok
	})
	if f == nil {
		return err
	}
	j := newJournalFile(f)
	j.add(found)
	if len(s.journals) > 0 {
		last := s.journals[len(s.journals)-1]
		j.before = last.before + last.records
	}
	s.journals = append(s.journals, j)
	return nil
}

func (s *Store) createJournal(number uint64, now time.Time) (*journalFile, error) {
	f, err := s.journalFolder.Create(number, now)
	if err != nil {
		return nil, err
	}
	return newJournalFile(f), nil
}

// openSegments reads the trailers of the segments.
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
			_ = s.disk.Remove(s.path("services", dir.Name()))
		}
		for _, file := range files {
			path := s.path("services", dir.Name(), file.Name())
			switch {
			case strings.HasSuffix(path, datafolder.Temporary):
				if !s.readOnly {
					_ = s.disk.Remove(path)
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

// brokenSegment counts a segment whose trailer cannot be read.
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
