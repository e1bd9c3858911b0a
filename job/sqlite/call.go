package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/job"
)

// A call is a write to the database. run may be called again, in another transaction, when the first one was rolled back.
type call struct {
	run func(t *txn) error
	// jobs are all jobs that run inserts, if it does nothing else: the jobs of several calls are inserted together, which sets the
	// ids of each.
	jobs []*job.Job
	ids  []job.ID
	// alone means that run cannot be called again: the call has a transaction of its own.
	alone bool
	// unsynced means that the write may be lost when the machine loses power: the call does not wait for the disk.
	unsynced bool

	// taken is set by whichever comes first: the caller when it gives up, or the flush, which then sets err and closes done. So a
	// caller never returns while run uses its variables.
	taken atomic.Bool
	done  chan struct{}
	err   error
}

// errUnwritten is the error of the other calls in a transaction when one of them panics.
var errUnwritten = errors.New("another call that was written at the same time panicked")

// write runs a call in a transaction that is on disk when write returns nil. After an error, the results that run has set are
// invalid.
func (s *Store) write(ctx context.Context, what string, run func(t *txn) error) error {
	return s.submit(ctx, what, &call{run: run})
}

// writeUnsynced is write for data that survives a crash of the process, but may be lost when the machine loses power.
func (s *Store) writeUnsynced(ctx context.Context, what string, run func(t *txn) error) error {
	return s.submit(ctx, what, &call{run: run, unsynced: true})
}

func (s *Store) submit(ctx context.Context, what string, c *call) error {
	if s.isClosed() {
		return fmt.Errorf("%s: %w", what, job.ErrClosed)
	}
	c.done = make(chan struct{})
	_, err := s.calls.Do(ctx, c)
	if !c.taken.CompareAndSwap(false, true) {
		<-c.done
		err = c.err
	}
	return s.explain(what, err)
}

// flush writes calls that arrived at the same time.
func (s *Store) flush(_ context.Context, calls []*call) ([]struct{}, error) {
	var wanted []*call
	for _, c := range calls {
		if c.taken.CompareAndSwap(false, true) {
			wanted = append(wanted, c)
		}
	}
	defer func() {
		for _, c := range wanted {
			close(c.done)
		}
	}()
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	var together, single []*call
	for _, c := range wanted {
		switch c.err = errUnwritten; {
		case s.isClosed():
			c.err = job.ErrClosed
		case c.alone:
			single = append(single, c)
		default:
			together = append(together, c)
		}
	}
	s.writeSingly(append(s.writeTogether(together), single...))
	return make([]struct{}, len(calls)), nil
}

// writeTogether writes calls in one transaction. It returns the calls to retry one by one: all of them if one failed.
func (s *Store) writeTogether(calls []*call) []*call {
	if len(calls) < 2 {
		return calls
	}
	synced := slices.ContainsFunc(calls, func(c *call) bool { return !c.unsynced })
	err := s.transact(synced, func(t *txn) error {
		if err := t.insertTogether(calls); err != nil {
			return err
		}
		for _, c := range calls {
			if c.jobs != nil {
				continue
			}
			if err := c.run(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && code(err) != codeBusy {
		return calls
	}
	for _, c := range calls {
		c.err = err
	}
	return nil
}

// writeSingly writes each call in a transaction of its own.
func (s *Store) writeSingly(calls []*call) {
	for i, c := range calls {
		c.err = s.transact(!c.unsynced, c.run)
		if code(c.err) == codeFull && !s.full && !c.alone {
			c.err = s.transact(!c.unsynced, c.run)
		}
		if code(c.err) == codeBusy {
			// After one call has waited for the lock in vain, the others do not wait for it again.
			for _, other := range calls[i:] {
				other.err = c.err
			}
			return
		}
	}
}
