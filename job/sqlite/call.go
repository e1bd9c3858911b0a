package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/job"
)

// A call is something to write. run may be called again, with another transaction, when the first was rolled back.
type call struct {
	run func(t *txn) error
	// jobs are all that run inserts, if that is all it does: those of several calls are inserted together, which sets ids of each.
	jobs []*job.Job
	ids  []job.ID
	// alone is for what cannot be called again: it has a transaction of its own.
	alone bool
	// unsynced is for what may be forgotten when the machine loses power: it need not wait for the disk.
	unsynced bool

	// taken is set by whoever comes first: the caller when it gives up, or the flush, which then closes done after it has
	// set err. So a caller never returns while run is using what is its.
	taken atomic.Bool
	done  chan struct{}
	err   error
}

// errUnwritten is what the other calls get when one panics in a transaction.
var errUnwritten = errors.New("another call that was written at the same time panicked")

// write runs a call in a transaction that is on disk when write returns nil. After an error, what run has set is not to be
// used.
func (s *Store) write(ctx context.Context, what string, run func(t *txn) error) error {
	return s.submit(ctx, what, &call{run: run})
}

// writeUnsynced is write for what is safe from the death of the process when it returns, but not from a loss of power: then
// it may not have happened.
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

// flush is given calls that came at the same time.
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

// writeTogether writes calls in one transaction. It returns those that are to be tried singly: all of them when one failed.
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
			// A lock that was not given to one is not waited for again on behalf of each.
			for _, other := range calls[i:] {
				other.err = c.err
			}
			return
		}
	}
}
