package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
)

// errLaned is for a claim that finds lanes in a queue that had none: it begins again, so that no other claim of this process uses what is known meanwhile.
var errLaned = errors.New("the queue has lanes")

// knownLanes is what this process knows of the lanes of queues.
type knownLanes struct {
	mu     sync.Mutex
	queues map[string]*knownQueue
}

// find returns what is known of a queue, or nil for one that had no lanes.
func (k *knownLanes) find(queue string) *knownQueue {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queues[queue]
}

// add returns what is known of a queue, from now on.
func (k *knownLanes) add(queue string) *knownQueue {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queues == nil {
		k.queues = map[string]*knownQueue{}
	}
	if k.queues[queue] == nil {
		k.queues[queue] = newKnownQueue()
	}
	return k.queues[queue]
}

// drop forgets a queue, which has no lanes.
func (k *knownLanes) drop(queue string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.queues, queue)
}

// A knownQueue is what is known of a queue. It is right as of the commit of the claim that left the change seen with this tag, and of no other: all that was
// committed before it is in the history of a server that has the change, and every change since is in meanwhile.changes behind it, or with those that the
// next claim numbers. Of a server that has not, as after a failover to one that is behind, or one that was restored, nothing is known.
type knownQueue struct {
	inUse chan struct{} // by a claim or a sweep, from before it waits for the lock of the queue
	lanes *lanes.Queue  // nil for nothing
	seen  int64
	tag   int64
}

// newKnownQueue returns a queue of which nothing is known.
func newKnownQueue() *knownQueue { return &knownQueue{inUse: make(chan struct{}, 1)} }

// use waits until nobody uses what is known.
func (k *knownQueue) use(ctx context.Context) error {
	select {
	case k.inUse <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *knownQueue) free() { <-k.inUse }

// forget is for when it is not certain that what was noted is what the server says.
func (k *knownQueue) forget() {
	if k.lanes != nil {
		k.lanes.Renew()
	}
	k.seen, k.tag = 0, 0
}

// changes are those of lanes that a claim has found, while it is under way.
type changes struct {
	tag   int64 // of what it numbers
	known bool  // what was known still counts
	last  int64
	moved bool // it has numbered some
	more  bool // others are left
	found []change
}

// A change is of lanes: see the table meanwhile.changes.
type change struct {
	tag      int64
	keys     []string
	priority pgtype.Int2
	runAt    pgtype.Timestamptz
}

// A changeRow is what lanes_changed returns.
type changeRow struct {
	known, moved, more pgtype.Bool
	last, n            pgtype.Int8
	tag                pgtype.Int8
	change
}

func (r *changeRow) columns() []any {
	return []any{&r.known, &r.last, &r.moved, &r.more, &r.n, &r.tag, &r.keys, &r.priority, &r.runAt}
}

// newChanges returns those of a claim that has found none.
func newChanges() changes { return changes{tag: rand.Int64()} }

// ask returns the arguments by which the server finds out whether what is known still counts.
func (c *changes) ask(k *knownQueue) []any {
	if k == nil {
		return []any{int64(0), int64(0), c.tag}
	}
	return []any{k.seen, k.tag, c.tag}
}

// add adds a row.
func (c *changes) add(r *changeRow) {
	c.known, c.last, c.moved, c.more = r.known.Bool, r.last.Int64, r.moved.Bool, r.more.Bool
	if r.n.Valid {
		found := r.change
		found.tag = r.tag.Int64
		c.found = append(c.found, found)
	}
}

// apply notes what has changed.
func (c *changes) apply(k *knownQueue) {
	if k.lanes == nil {
		k.lanes = lanes.New()
	}
	if !c.known {
		k.lanes.Renew()
		return
	}
	for _, change := range c.found {
		if !change.apply(k.lanes) {
			k.lanes.Renew()
			return
		}
	}
}

// apply reports whether what is known is worth to be kept.
func (c *change) apply(q *lanes.Queue) bool {
	switch {
	case c.keys == nil:
		q.ChangeAll()
	case c.priority.Int16 < 0:
		q.Turned(c.keys, int(c.priority.Int16))
	default:
		return c.applyEach(q)
	}
	return true
}

// applyEach is apply for lanes that are to be looked at.
func (c *change) applyEach(q *lanes.Queue) bool {
	for _, key := range c.keys {
		ok := true
		switch {
		case !c.priority.Valid:
			ok = q.Change(key)
		case c.priority.Int16 == 0:
			ok = q.Ended(key)
		default:
			ok = q.Added(key, int(c.priority.Int16), c.runAt.Time.UnixMicro())
		}
		if !ok {
			return false
		}
	}
	return true
}

// committed notes up to where what is known counts: a claim has left so many changes behind the last that it found.
func (c *changes) committed(k *knownQueue, left int64) {
	switch {
	case c.moved || left > 0:
		k.seen, k.tag = c.last+left, c.tag
	case len(c.found) > 0:
		k.seen, k.tag = c.last, c.found[len(c.found)-1].tag
	case !c.known:
		k.forget()
	}
}
