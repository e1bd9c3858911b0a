package segment

import (
	"errors"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// repair cuts off what a failed write or sync has left, if anything, and revokes its numbers. The caller holds s.writing.
func (s *Store) repair() error {
	err := s.active.Repair()
	if err != nil && !errors.Is(err, journal.ErrBroken) {
		return err
	}
	for c := s.lastFailed(); c != nil; c = s.lastFailed() {
		s.undo(c)
	}
	return err
}

// lastFailed removes the newest commit that is not visible, and returns it, if it has failed for good.
func (s *Store) lastFailed() *commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.unsettled) - 1
	if last < 0 {
		return nil
	}
	c := s.unsettled[last]
	if _, err := c.Outcome(); err == nil {
		return nil
	}
	s.unsettled[last], s.unsettled = nil, s.unsettled[:last]
	return c
}

// undo revokes the numbers of a commit that was not written, or not synced. Of several commits, the newest has to be the first. The
// caller holds s.writing.
func (s *Store) undo(c *commit) {
	for i := len(c.entries) - 1; i >= 0; i-- {
		e := &c.entries[i]
		e.service.written = e.first - 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range c.marks {
		m.client.written = m.client.kept
	}
	for _, earlier := range s.unsettled {
		for _, m := range earlier.marks {
			m.client.written = max(m.client.written, m.last)
		}
	}
}
