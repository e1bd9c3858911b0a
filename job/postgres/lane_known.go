package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
)

// errLaned restarts a claim that found lanes in a queue without a cache, so that the claim gets exclusive use of the cache.
var errLaned = errors.New("the queue has lanes")

// knownLanes is this process's cache of the lanes of all queues.
type knownLanes struct {
	mu     sync.Mutex
	queues map[string]*knownQueue
}

// find returns the cache of a queue, or nil if the queue had no lanes.
func (k *knownLanes) find(queue string) *knownQueue {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queues[queue]
}

// add returns the cache of a queue, and creates it if there is none.
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

// drop removes the cache of a queue that has no lanes.
func (k *knownLanes) drop(queue string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.queues, queue)
}

// A knownQueue is the cache of the lanes of a queue. It is exact for one moment: the commit of the claim that wrote the change numbered seen, with
// this tag. A server that has this change has everything that was committed before it; every later change is behind it in meanwhile.changes, or
// gets its number from the next claim. If the server does not have the change, as after a restore or a failover to a server that lags, the cache
// is not valid.
type knownQueue struct {
	inUse chan struct{} // held by a claim or a sweep, from before it waits for the lock of the queue
	lanes *lanes.Queue  // nil if the cache is not valid
	seen  int64
	tag   int64
}

// newKnownQueue returns an empty cache of a queue.
func newKnownQueue() *knownQueue { return &knownQueue{inUse: make(chan struct{}, 1)} }

// use waits for exclusive use of the cache.
func (k *knownQueue) use(ctx context.Context) error {
	select {
	case k.inUse <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *knownQueue) free() { <-k.inUse }

// forget drops the cache, because it may differ from the data of the server.
func (k *knownQueue) forget() {
	if k.lanes != nil {
		k.lanes.Renew()
	}
	k.seen, k.tag = 0, 0
}

// changes are the changes of lanes that a claim finds while it runs.
type changes struct {
	tag   int64 // of the changes that this claim numbers
	known bool  // the cache is still valid
	last  int64
	moved bool // this claim has numbered some changes
	more  bool // there are more changes
	found []change
}

// A change is a row of the table meanwhile.changes.
type change struct {
	tag      int64
	keys     []string
	priority pgtype.Int2
	runAt    pgtype.Timestamptz
}

// A changeRow is a row that lanes_changed returns.
type changeRow struct {
	known, moved, more pgtype.Bool
	last, n            pgtype.Int8
	tag                pgtype.Int8
	change
}

func (r *changeRow) columns() []any {
	return []any{&r.known, &r.last, &r.moved, &r.more, &r.n, &r.tag, &r.keys, &r.priority, &r.runAt}
}

// newChanges returns the changes of a claim that has not read any yet.
func newChanges() changes { return changes{tag: rand.Int64()} }

// ask returns the arguments by which the server decides whether the cache is still valid.
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

// apply applies the changes to the cache.
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

// apply applies one change. It returns false if the cache should be dropped.
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

// applyEach applies a change to each of its lanes.
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

// committed records the moment for which the cache is valid: after the claim, which has written this many changes behind the last one that it
// found.
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
