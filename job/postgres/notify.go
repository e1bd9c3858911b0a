package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	noticeEvery   = 2 * time.Millisecond  // at most, from one process
	quickInsert   = 5 * time.Millisecond  // that an insert takes where the next one may give notice itself
	txNoticeEvery = 10 * time.Millisecond // in transactions of the caller's, by queue
	noticeTimeout = 5 * time.Second
)

// notices tell the waiting workers of all processes that jobs have become due. An insert gives notice itself, which saves a round
// trip before the job starts, where none was given a moment before and inserts are quick; others are sent apart from the inserts, since commits that
// give notice wait for each other in the server, until they are on disk. The first is sent at once, those that come soon after it
// together. One that is lost costs time only: workers look now and then without being told.
type notices struct {
	mu      sync.Mutex
	idle    sync.Cond
	pending map[string]bool // queues to give notice of
	sending bool            // a timer runs, or what it started
	last    time.Time
	took    time.Duration        // by the last insert
	inTxs   map[string]time.Time // by queue, the last notice that a transaction of the caller's gives
}

func (n *notices) setUp() {
	n.idle.L = &n.mu
	n.pending, n.inTxs = map[string]bool{}, map[string]time.Time{}
}

// withInsert reports whether an insert is to give notice itself.
func (n *notices) withInsert() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sending || n.took > quickInsert || time.Since(n.last) < noticeEvery {
		return false
	}
	n.last = time.Now()
	return true
}

// inserted notes how long an insert took.
func (n *notices) inserted(took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.took = took
}

// notify has notice given of due jobs in queues, soon.
func (s *Store) notify(queues []string) { s.notifyAfter(0, queues) }

func (s *Store) notifyAfter(delay time.Duration, queues []string) {
	if len(queues) == 0 {
		return
	}
	n := &s.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, q := range queues {
		n.pending[q] = true
	}
	if !n.sending {
		n.sending = true
		time.AfterFunc(max(delay, noticeEvery-time.Since(n.last)), s.sendNotices)
	}
}

// sendNotices sends what is pending, and comes again when more has come meanwhile.
func (s *Store) sendNotices() {
	n := &s.notices
	n.mu.Lock()
	queues := slices.Sorted(maps.Keys(n.pending))
	clear(n.pending)
	n.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
	_, _ = s.run().ids(ctx, s.sql("notify"), s.schema, queues) // see notices: it may be lost
	cancel()

	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = time.Now()
	if len(n.pending) > 0 {
		time.AfterFunc(noticeEvery, s.sendNotices)
		return
	}
	n.sending = false
	n.idle.Broadcast()
}

// wait returns when no notice is left to be sent.
func (n *notices) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.sending {
		n.idle.Wait()
	}
}

// noticesInTx returns of which queues a transaction of the caller's is to give notice itself. Where another one did just
// before, notice is given some time later instead, so that many such transactions do not wait for each other.
func (s *Store) noticesInTx(queues []string) []string {
	n := &s.notices
	now := time.Now()
	var here, later []string
	n.mu.Lock()
	for _, q := range queues {
		if now.Sub(n.inTxs[q]) < txNoticeEvery {
			later = append(later, q)
		} else {
			n.inTxs[q] = now
			here = append(here, q)
		}
	}
	n.mu.Unlock()
	s.notifyAfter(2*txNoticeEvery, later)
	return here
}
