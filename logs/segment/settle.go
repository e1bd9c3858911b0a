package segment

import (
	"context"
	"fmt"
)

// newest returns the last commit that nobody sees yet, or nil.
func (s *Store) newest() *commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsettled) == 0 {
		return nil
	}
	return s.unsettled[len(s.unsettled)-1]
}

// settle waits until a commit is on disk. One of those who wait syncs for all who have written by then.
func (s *Store) settle(ctx context.Context, c *commit) error {
	for {
		s.mu.Lock()
		if c.done {
			defer s.mu.Unlock()
			return c.err
		}
		if syncing := s.syncing; syncing != nil {
			s.mu.Unlock()
			select {
			case <-syncing:
				continue
			case <-ctx.Done():
				return fmt.Errorf("it was being written, the outcome is open: %w", context.Cause(ctx))
			}
		}
		s.lead()
	}
}

// lead syncs what is written by now. It is called with s.mu, and gives it free.
func (s *Store) lead() {
	syncing := make(chan struct{})
	s.syncing = syncing
	last := s.unsettled[len(s.unsettled)-1]
	last.journal.uses.Add(1)
	s.mu.Unlock()
	err := s.disk.sync(last.journal.file)
	last.journal.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncing = nil
	close(syncing)
	if err == nil {
		s.publish(last)
		return
	}
	// Nobody knows what of it is on disk, so nothing of it may be there: who writes next cuts it off.
	for _, c := range s.unsettled {
		c.done, c.err = true, full(fmt.Errorf("sync journal: %w", err))
	}
	s.doomed = append(s.doomed, s.unsettled...)
	s.unsettled = nil
}

// publish makes visible what was written up to a commit. The caller holds s.mu.
func (s *Store) publish(last *commit) {
	if last.done {
		return
	}
	now := s.clientSeenNow()
	for !last.done {
		c := s.unsettled[0]
		s.unsettled[0] = nil
		s.unsettled = s.unsettled[1:]
		c.journal.add(c.entries)
		c.journal.kept = c.end
		for _, m := range c.marks {
			m.client.kept, m.client.heard = max(m.client.kept, m.last), now
		}
		c.done = true
	}
	close(s.appended)
	s.appended = make(chan struct{})
}

// add makes entries visible. The caller holds Store.mu.
func (j *journal) add(entries []entry) {
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
		e.service.kept = max(e.service.kept, e.last()) // which the checkpoint may know better, see openJournal
	}
}

// keptSize returns how much of a journal is known to be on disk.
func (s *Store) keptSize(j *journal) int64 {
	if s.cfg.Sync != Always {
		return int64(journalHead)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.kept
}

// Appended returns a channel that is closed when something has been appended after the call.
func (s *Store) Appended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appended
}

// Sync returns when everything that was appended is on disk, whatever the way to sync.
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
	if s.cfg.Sync == Always {
		if c := s.newest(); c != nil {
			return s.settle(ctx, c)
		}
		return nil
	}
	s.mu.Lock()
	j := s.active
	j.uses.Add(1)
	s.mu.Unlock()
	defer j.release()
	if err := s.disk.sync(j.file); err != nil {
		return full(fmt.Errorf("sync journal: %w", err))
	}
	return nil
}
