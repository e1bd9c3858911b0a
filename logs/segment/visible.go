package segment

import (
	"context"
	"slices"
)

// newest returns the last commit that is not visible yet, or nil.
func (s *Store) newest() *commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsettled) == 0 {
		return nil
	}
	return s.unsettled[len(s.unsettled)-1]
}

// awaitCommit waits until a commit is on disk, and makes it visible.
func (s *Store) awaitCommit(ctx context.Context, c *commit) error {
	if err := c.Wait(ctx); err != nil {
		return full(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish()
	return nil
}

// publish makes the commits visible that are complete by now. The caller holds s.mu.
func (s *Store) publish() {
	now, n := s.clientSeenNow(), 0
	for _, c := range s.unsettled {
		if known, err := c.Outcome(); !known || err != nil {
			break
		}
		n++
		c.journal.add(c.entries)
		c.journal.kept = c.End()
		for _, m := range c.marks {
			m.client.kept, m.client.lastSeen = max(m.client.kept, m.last), now
		}
	}
	if n == 0 { // another caller has
		return
	}
	s.unsettled = slices.Delete(s.unsettled, 0, n)
	close(s.appended)
	s.appended = make(chan struct{})
}

// add makes entries visible. The caller holds Store.mu.
func (j *journalFile) add(entries []entry) {
	for i := range entries {
		e := &entries[i]
		h := j.services[e.service]
		if h == nil {
			h = new(holding)
			j.services[e.service] = h
		}
		h.add(len(j.entries), e)
		j.entries = append(j.entries, *e)
		j.records += uint64(e.count)
		j.raw += int64(e.raw)
		e.service.kept = max(e.service.kept, e.last()) // the checkpoint may have a higher number, see openJournal
	}
}

// Appended returns a channel that is closed when something has been appended after the call.
func (s *Store) Appended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appended
}

// Sync returns when everything that was appended is on disk, whatever the sync policy.
func (s *Store) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := s.usable(); err != nil || s.readOnly {
		return err
	}
	return s.syncWritten(ctx)
}

// syncWritten syncs what was written before the call.
func (s *Store) syncWritten(ctx context.Context) error {
	s.mu.Lock()
	j := s.active
	j.Use()
	s.mu.Unlock()
	defer j.Release()
	err := j.Sync(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish()
	return full(err)
}
