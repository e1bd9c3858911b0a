package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
)

// mostChanges is how many changes of lanes the file keeps: a process that has missed more reads all lanes again.
const mostChanges = 10_000

// errGap means that changes are missing.
var errGap = errors.New("changes of lanes are missing")

// knownQueue returns the cache of the lanes of a queue, with all changes until now applied.
func (t *txn) knownQueue(queue int64) (*lanes.Queue, error) {
	m := &t.store.lanes
	m.use(t)
	if err := t.readChanges(m); err != nil {
		return nil, err
	}
	q := m.queues[queue]
	if q == nil {
		row, err := one(t, statement("lane_is_at_capacity"), queue)
		if err != nil {
			return nil, err
		}
		q = lanes.New()
		q.AtCapacity = integer(row[0]) == 1
		m.queues[queue] = q
	}
	return q, nil
}

// readChanges applies new changes to the cache.
func (t *txn) readChanges(m *laneMemory) error {
	row, err := one(t, statement("lane_last"))
	if err != nil {
		return err
	}
	last := integer(row[0])
	if last == m.seen {
		return nil
	}
	if m.seen >= 0 && last > m.seen && last-m.seen <= mostChanges {
		err = t.each(statement("lane_changes"), []any{m.seen}, func(v []driver.Value) error {
			m.seen++
			if integer(v[0]) != m.seen {
				return errGap
			}
			m.note(integer(v[1]), v[2], v[3], integer(v[4]))
			return nil
		})
		if err == nil && m.seen == last {
			return nil
		}
		if err != nil && !errors.Is(err, errGap) {
			return err
		}
	}
	for _, q := range m.queues {
		q.Renew()
	}
	m.seen = last
	return nil
}

// note applies one change to the cache, see the table meanwhile_change.
func (m *laneMemory) note(queue int64, key, priority driver.Value, runAt int64) {
	q, known := m.queues[queue], true
	switch p := int(integer(priority)); {
	case q == nil:
	case key == nil:
		q.ChangeAll()
	case priority == nil:
		known = q.Change(text(key))
	case p < 0:
		var keys []string
		if err := json.Unmarshal([]byte(text(key)), &keys); err == nil { // the format that leaveTurns writes
			q.Turned(keys, p)
		}
	case p == 0:
		known = q.Ended(text(key))
	default:
		known = q.Added(text(key), p, runAt)
	}
	if !known {
		q.Renew() // the background search for its lanes costs less
	}
}

var laneEnded = repeated("lane_ended")

// markEnded writes that jobs of lanes have ended, if others of the queue may wait for that.
func (t *txn) markEnded(queue int64, keys []string) error {
	row, err := one(t, statement("lane_is_at_capacity"), queue)
	if err != nil || integer(row[0]) == 0 {
		return err
	}
	args := make([]any, 0, 1+chunkSizes[0])
	return laneEnded.chunks(len(keys), func(sql string, from, size int) error {
		args = append(args[:0], queue)
		for _, key := range keys[from : from+size] {
			args = append(args, key)
		}
		_, err := t.exec(sql, args...)
		return err
	})
}

// mark makes every process read a lane again, or all lanes of the queue if key is nil.
func (t *txn) mark(queue int64, key any) error {
	_, err := t.exec(statement("lane_mark"), queue, key)
	return err
}

// leaveTurns writes the turns that a claim has changed, for other processes. If its change is the one right after those in the
// cache, this process does not read it again.
func (t *txn) leaveTurns(queue int64, claim *lanes.Claim) error {
	return claim.Turns(func(keys []string, mark int) error {
		text, err := json.Marshal(keys)
		if err != nil {
			return err
		}
		return t.each(statement("lane_turns"), []any{queue, string(text), int64(mark)}, func(v []driver.Value) error {
			if m := &t.store.lanes; integer(v[0]) == m.seen+1 {
				m.seen++
			}
			return nil
		})
	})
}

// pruneChanges deletes all but the last changes.
func (t *txn) pruneChanges() error {
	_, err := t.exec(statement("lane_changes_prune"), int64(mostChanges))
	return err
}
