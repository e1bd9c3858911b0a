package segment

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

// rotateIfDue prepares the journal for the next write: it cuts off what has failed, and closes the journal and starts another one if it
// is large or old, if the day has changed, or if it can no longer be written. The caller holds s.writing.
func (s *Store) rotateIfDue() error {
	err := s.repair()
	broken := errors.Is(err, journal.ErrBroken)
	if err != nil && !broken {
		return err
	}
	j, now, size := s.active, time.Now(), s.active.Size()
	if size <= journal.HeadSize && !broken { // nothing is in it
		j.Made = now
		return nil
	}
	s.mu.Lock()
	entries := len(j.entries)
	s.mu.Unlock()
	if !broken && size < s.cfg.JournalBytes && entries < maxEntries && now.Sub(j.Made) < s.cfg.JournalAge && sameDay(j.Made, now) {
		return nil
	}
	return s.rotate(now)
}

// maxEntries bounds the memory for a journal, in entries.
const maxEntries = 256 << 10

func sameDay(a, b time.Time) bool {
	return a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour))
}

// rotate syncs the journal, as far as that is possible, closes it, and starts another one. If another one cannot be created, it continues
// with the current one.
func (s *Store) rotate(now time.Time) error {
	err := s.syncWritten(context.Background())
	// What has failed is undone before the next journal has records: they would get higher numbers, and not become visible after it.
	repaired := s.repair()
	broken := errors.Is(repaired, journal.ErrBroken)
	if err = cmp.Or(repaired, err); err != nil && !broken {
		return err
	}
	j, err := s.createJournal(s.active.Number+1, now)
	if err != nil {
		s.log().Warn("the journal is due to be closed, and another cannot be made", "error", err)
		return nil
	}
	if broken {
		s.log().Error("another journal is begun: a sync of this one failed, or it was deleted or moved", "journal", s.active.Path())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.before = s.active.before + s.active.records
	s.journals = append(s.journals, j)
	s.active = j
	s.wake()
	return nil
}

// wake wakes the task that converts journals.
func (s *Store) wake() {
	select {
	case s.due <- struct{}{}:
	default:
	}
}

// maxWaiting bounds the memory for closed journals, in entries.
const maxWaiting = 512 << 10

// waitForRoom waits while there are too many closed journals to be converted. It does not wait if no task converts them any more, as at
// the end of a program.
func (s *Store) waitForRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		var bytes int64
		entries := 0
		for _, j := range s.journals[:max(0, len(s.journals)-1)] {
			bytes += j.kept
			entries += len(j.entries)
		}
		built, err, closed := s.segmentsBuilt, s.convertErr, s.shut
		s.mu.Unlock()
		switch {
		case closed:
			return logs.ErrClosed
		case bytes <= s.cfg.Backlog && entries <= maxWaiting, !s.converting():
			return nil
		case err != nil:
			return full(err)
		}
		select {
		case <-built:
		case <-s.stopped:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
