package sqlite

import (
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
)

// laneMemory is what this process knows of lanes. It is a copy of what the file says, up to a change of the lanes that the file has too, so a process
// that dies loses nothing. The one writer of the store uses it.
type laneMemory struct {
	queues map[int64]*lanes.Queue
	seen   int64       // the last change that is in it
	by     *txn        // that has used it and is not committed
	stale  atomic.Bool // the tables were made anew
}

// use gives the memory to a transaction. If the last one that had it was rolled back, all is read again.
func (m *laneMemory) use(t *txn) {
	if m.stale.Swap(false) || m.queues == nil || m.by != nil && m.by != t {
		m.queues, m.seen = map[int64]*lanes.Queue{}, -1
	}
	m.by = t
}

// committed is called when what a transaction wrote counts.
func (m *laneMemory) committed(t *txn) {
	if m.by == t {
		m.by = nil
	}
}
