package postgres

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	priorities = job.HighestPriority // 1 to 9
	// Sweeps, which are claims from the start of the queue, may take a tenth of the time. While an old snapshot is open anywhere in the server, a
	// sweep reads every row that was claimed since then; a claim from the cursor does not.
	sweepShare = 10
	maxSweep   = 5 * time.Second // longest time between two sweeps

	mostCursors = 10_000 // a server may claim from as many queues as its clients name
)

// cursors remember up to where jobs have been claimed, by queue, claimed kinds and priority, so that a claim need not read dead rows. Jobs can
// appear before a cursor: they were committed late, have a time in the past, or were released. So some claims start at the beginning (a sweep): the
// cheaper sweeps are, the more often; usually almost always.
type cursors struct {
	mu     sync.Mutex
	queues map[string]*queueCursor // by cursorKey
}

// cursorKey returns separate keys for claims of different kinds: jobs that one of them skips may be claimed by another.
func cursorKey(queue, kinds string) string { return queue + "\n" + kinds }

type queueCursor struct {
	last  [priorities]place // the highest priority first
	sweep time.Time         // when to sweep next, by the clock of the process
	pause time.Duration     // time between two sweeps
}

// A place is a position in the order of the jobs of a queue and a priority.
type place struct {
	at time.Time
	id job.ID
}

func (p place) before(q place) bool {
	return p.at.Before(q.at) || p.at.Equal(q.at) && bytes.Compare(p.id[:], q.id[:]) < 0
}

// A claimStart is where a claim starts.
type claimStart struct {
	queues []string
	kinds  string
	swept  []bool
	sweep  []time.Time // by queue: when it will be swept, if not now
	at     []time.Time // by queue, then by priority, highest first
	ids    [][16]byte
}

// start returns where a claim starts.
func (c *cursors) start(queues, kinds []string, now time.Time) *claimStart {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(queues)
	l := &claimStart{
		queues: queues, kinds: strings.Join(kinds, " "), swept: make([]bool, n), sweep: make([]time.Time, n),
		at: make([]time.Time, n*priorities), ids: make([][16]byte, n*priorities),
	}
	for i, queue := range queues {
		q := c.queues[cursorKey(queue, l.kinds)]
		if q == nil || !now.Before(q.sweep) {
			l.swept[i] = true
			if q != nil {
				q.sweep = now.Add(q.pause) // so that no other claim sweeps at the same time
			}
			continue
		}
		l.sweep[i] = q.sweep
		for p, last := range q.last {
			l.at[i*priorities+p], l.ids[i*priorities+p] = last.at, last.id
		}
	}
	return l
}

// note records what a claim found, and how long it took.
func (c *cursors) note(l *claimStart, found []*job.Job, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues == nil || len(c.queues) >= mostCursors {
		c.queues = map[string]*queueCursor{} // the next claim of each queue sweeps
	}
	now := time.Now()
	for i, queue := range l.queues {
		key := cursorKey(queue, l.kinds)
		q := c.queues[key]
		if q == nil {
			q = new(queueCursor)
			c.queues[key] = q
		}
		if l.swept[i] {
			q.pause = min(sweepShare*took, maxSweep)
			q.sweep = now.Add(q.pause)
		}
	}
	for _, j := range found {
		q, p := c.queues[cursorKey(j.Queue, l.kinds)], job.HighestPriority-j.Priority
		if here := (place{j.RunAt, j.ID}); q != nil && q.last[p].before(here) {
			q.last[p] = here
		}
	}
}

// again returns the time until all queues of a claim may be swept; 0 if all were.
func (l *claimStart) again(now time.Time) time.Duration {
	if !slices.Contains(l.swept, false) {
		return 0
	}
	var wait time.Duration
	for i, swept := range l.swept {
		if !swept {
			wait = max(wait, l.sweep[i].Sub(now))
		}
	}
	return max(wait, time.Millisecond)
}
