package sqlite

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A txn is a transaction of the store's, or of the caller's, in which the store runs statements.
type txn struct {
	session
	store  *Store
	now    int64 // microseconds since 1970
	counts map[countKey]int64
	// fresh are the classes that this transaction has created or found: others may use them after the commit.
	fresh   map[className]class
	changed map[string]bool // queues in which jobs may have become due
	ended   map[int64]bool  // classes whose jobs have stopped running or waiting: others may start
	callers bool            // a transaction of the caller's, whose data may be rolled back
}

func (s *Store) newTxn(in session) *txn {
	return &txn{session: in, store: s, now: time.Now().UnixMicro(), counts: map[countKey]int64{}, fresh: map[className]class{}, changed: map[string]bool{}, ended: map[int64]bool{}}
}

// A countKey is what jobs are counted by.
type countKey struct {
	class int64
	state int64
}

func (t *txn) count(class, state, n int64) {
	t.counts[countKey{class, state}] += n
	if state == running && n < 0 {
		t.ended[class] = true
	}
}

// writeCounts writes the counts since its last call.
func (t *txn) writeCounts() error {
	for key, n := range t.counts {
		if n != 0 {
			if _, err := t.exec(statement("count_add"), key.class, key.state, n); err != nil {
				return err
			}
		}
	}
	clear(t.counts)
	return nil
}

// transact checks the schema and runs a transaction of the writer, which the caller has locked. A synced one is on disk when
// transact returns, with all that were committed before.
func (s *Store) transact(synced bool, run func(t *txn) error) error {
	// Checkpoint the log before it uses space that may be free now, and again after a failure, in case that frees space.
	s.full = s.full && !s.shrinkLog()
	err := s.transactUnchecked(synced, func(t *txn) error {
		if err := s.checkSchema(t); err != nil {
			return err
		}
		return run(t)
	})
	if code(err) == codeFull {
		s.full = !s.shrinkLog()
	}
	return err
}

func (s *Store) transactUnchecked(synced bool, run func(t *txn) error) error {
	if err := s.writer.sync(synced); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			// SQLite may have rolled back by itself, and then this fails; the cause is reported.
			_, _ = s.writer.exec(statement("rollback"))
		}
	}()
	t := s.newTxn(s.writer)
	if err := run(t); err != nil {
		return err
	}
	if err := t.writeCounts(); err != nil {
		return err
	}
	if err := t.noteEnded(); err != nil {
		return err
	}
	if err := s.identity.check(); err != nil {
		return err
	}
	if _, err := s.writer.exec(statement("commit")); err != nil {
		return err
	}
	committed = true
	s.lanes.committed(t)
	s.classes.add(t.fresh)
	s.waits.notify(t.changed)
	return nil
}

// noteEnded records the queues with limits in which jobs have ended: others may start.
func (t *txn) noteEnded() error {
	for id := range t.ended {
		name, err := t.className(id)
		if err != nil {
			return err
		}
		if t.store.limited.has(name.queue) {
			t.changed[name.queue] = true
		}
	}
	return nil
}

// shrinkLog checkpoints the log into the file and truncates it, and reports whether it could. SQLite itself checkpoints the log
// when it has grown to 4 MiB; on a full disk that would keep space that is needed.
func (s *Store) shrinkLog() bool {
	row, err := one(s.writer, statement("shrink_log"))
	return err == nil && integer(row[0]) == 0
}

// begin waits for the write lock. SQLite's own way of waiting, with longer and longer pauses, lets a process that writes all the
// time starve the others.
func (s *Store) begin() error {
	for begun := time.Now(); ; {
		_, err := s.writer.exec(statement("begin"))
		if code(err) != codeBusy || time.Since(begun) > busyTimeout {
			return err
		}
		select {
		case <-time.After(lockPause/2 + rand.N(lockPause)):
		case <-s.closed:
			return job.ErrClosed
		}
	}
}

// read runs a read-only transaction, which sees one state of the file.
func (s *Store) read(ctx context.Context, what string, run func(t *txn) error) error {
	err := s.readUnexplained(ctx, run)
	if err != nil && s.isClosed() {
		err = job.ErrClosed
	}
	return s.explain(what, err)
}

func (s *Store) readUnexplained(ctx context.Context, run func(t *txn) error) error {
	if s.isClosed() {
		return job.ErrClosed
	}
	// Check this first, since opening a connection only now would create an empty file.
	if err := s.identity.check(); err != nil {
		return err
	}
	tx, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	t := s.newTxn(foreign{ctx, tx, map[string]*sql.Stmt{}})
	if err := s.checkSchema(t); err != nil {
		return err
	}
	return run(t)
}
