package sqlite

import (
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
)

// laneMemory is this process's cache of lanes. It is a copy of the data in the file as of a change of the lanes that is also in the file, so a
// process that crashes loses no data. Only the writer of the store uses it.
type laneMemory struct {
	queues map[int64]*lanes.Queue
	seen   int64       // the last change that the cache contains
	by     *txn        // the transaction that has used it and has not been committed
	stale  atomic.Bool // the tables were created anew
}

// use gives the cache to a transaction. If the last transaction that used it was rolled back, everything is read again.
func (m *laneMemory) use(t *txn) {
	if m.stale.Swap(false) || m.queues == nil || m.by != nil && m.by != t {
		m.queues, m.seen = map[int64]*lanes.Queue{}, -1
	}
	m.by = t
}

// committed is called when a transaction has been committed.
func (m *laneMemory) committed(t *txn) {
	if m.by == t {
		m.by = nil
	}
}
