package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

// limited are the queues that had limits when this process last read them: when one of their jobs ends, others may start.
type limited struct {
	mu     sync.Mutex
	queues map[string]bool
}

func (l *limited) set(queue string, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues == nil {
		l.queues = map[string]bool{}
	}
	if l.queues[queue] = on; !on {
		delete(l.queues, queue)
	}
}

func (l *limited) has(queue string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues[queue]
}

// laneQueue reads a row of queue_find. It returns nil for a queue that has neither limits nor jobs with limit keys, and is not throttled.
func (t *txn) laneQueue(name string, row []driver.Value) (*job.LaneQueue, error) {
	limited := row[2] != nil || integer(row[7]) > 0
	t.store.limited.set(name, limited)
	if !limited && integer(row[4]) == 0 && integer(row[5]) <= t.now {
		return nil, nil
	}
	return t.keptQueue(name, row)
}

// keptQueue reads a row of queue_find.
func (t *txn) keptQueue(name string, row []driver.Value) (*job.LaneQueue, error) {
	q := &job.LaneQueue{Full: timeOf(row[3]), Held: timeOf(row[5]), Paid: timeOf(row[6]), Overrides: int(integer(row[7]))}
	if row[2] != nil {
		if err := json.Unmarshal([]byte(text(row[2])), &q.Limits); err != nil {
			return nil, fmt.Errorf("limits of queue %s: %w", name, err)
		}
	}
	if err := t.writeCounts(); err != nil {
		return nil, err
	}
	running, err := one(t, statement("lane_queue_running"), integer(row[0]))
	if err != nil {
		return nil, err
	}
	q.Running = int(integer(running[0]))
	return q, nil
}
