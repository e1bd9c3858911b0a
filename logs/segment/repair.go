package segment

import "fmt"

// repair cuts off what a failed write or sync has left, if there is any. The caller holds s.writing.
func (s *Store) repair(j *journal) error {
	s.mu.Lock()
	doomed := s.doomed
	if len(doomed) > 0 {
		j.size, j.torn = j.kept, true
	}
	s.mu.Unlock()
	if !j.torn {
		return nil
	}
	if err := s.disk.truncate(j.file, j.size); err != nil {
		return fmt.Errorf("cut a failed write off the journal: %w", err)
	}
	j.torn = false
	for i := len(doomed) - 1; i >= 0; i-- {
		s.undo(doomed[i])
	}
	s.mu.Lock()
	s.doomed = nil
	s.mu.Unlock()
	return nil
}

// undo takes back the numbers of a commit that was not written, or not brought to disk. With several, the newest comes
// first. The caller holds s.writing.
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
