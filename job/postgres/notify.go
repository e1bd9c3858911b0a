package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	noticeEvery   = 2 * time.Millisecond  // the shortest time between notices of one process
	quickInsert   = 5 * time.Millisecond  // an insert that is at most this slow lets the next one notify in its transaction
	txNoticeEvery = 10 * time.Millisecond // in such a time one transaction of the caller's gives notice of a queue
	noticeTimeout = 5 * time.Second
)

// notices notify the waiting workers of all processes that jobs are due. An insert does so in its transaction, which saves a round trip before the
// job starts, unless there was a notice a moment before or inserts are slow. Then notices are sent apart from inserts, since in the server commits
// with a notice wait for each other until they are on disk: the first at once, those that follow soon after it together. A notice that is lost costs
// only time, since workers also poll now and then.
type notices struct {
	mu      sync.Mutex
	idle    sync.Cond
	pending map[string]bool // queues whose notice is still to be sent
	sending bool            // a timer, or what it started, is running
	last    time.Time
	took    time.Duration   // duration of the last insert
	inTxs   map[string]bool // queues of which a transaction of the caller's has given notice since
	since   time.Time
}

func (n *notices) setUp() {
	n.idle.L = &n.mu
	n.pending = map[string]bool{}
}

// withInsert reports whether an insert should give notice in its transaction.
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

// notify gives notice of due jobs in queues, soon.
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

// sendNotices sends what is pending, and runs again if more arrives meanwhile.
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

// wait returns when there is no notice left to send.
func (n *notices) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.sending {
		n.idle.Wait()
	}
}

// noticesInTx returns the queues for which a transaction of the caller's gives notice when it commits. If another one did so just before, notice is
// given a little later instead, so that many such transactions do not wait for each other.
func (s *Store) noticesInTx(queues []string) []string {
	n := &s.notices
	now := time.Now()
	var here, later []string
	n.mu.Lock()
	if now.Sub(n.since) >= txNoticeEvery {
		n.since, n.inTxs = now, map[string]bool{}
	}
	for _, q := range queues {
		if n.inTxs[q] {
			later = append(later, q)
		} else {
			n.inTxs[q] = true
			here = append(here, q)
		}
	}
	n.mu.Unlock()
	s.notifyAfter(2*txNoticeEvery, later)
	return here
}
