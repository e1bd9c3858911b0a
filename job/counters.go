package job

import (
	"slices"
	"sync"
	"time"
)

const (
	counterKinds = 200             // rows per minute; further kinds are counted in one row for each queue
	rowsKept     = 2 * time.Hour   // how long rows are kept while the store does not answer
	rowsAtOnce   = 500             // rows reported at once
	reportEach   = 2 * time.Second // how often changed rows are reported
)

// counters count what a worker does by minute, queue and kind, and keep each row until the store has it. Rows are reported whole, so that it does
// not matter whether the store has kept a row whose answer was lost.
type counters struct {
	worker string

	mu     sync.Mutex
	open   map[counterKey]*counterRow
	last   *counterRow   // the row counted in last: most jobs have the queue and kind of the one before
	closed []*counterRow // rows of minutes that are over

	minute   time.Time // of the open rows, by the store's clock; zero until that is known
	until    time.Time // when it is over, by the worker's clock
	clock    *storeClock
	reported time.Time // when rows were reported last
}

type counterKey struct{ queue, kind string }

type counterRow struct {
	stat     Stat
	changes  uint64 // of the row, ever
	reported uint64 // changes that the store has for certain
}

// began counts an attempt that starts, wait after it was due.
func (t *counters) began(now time.Time, j *Job, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row(now, j)
	r.stat.Wait.Add(wait)
	r.changes++
}

// ended counts a settled attempt; begun is zero if its handler did not run.
func (t *counters) ended(now time.Time, j *Job, e Event, begun time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row(now, j)
	switch e.Kind {
	case JobCompleted:
		r.stat.Completed++
	case JobRetried:
		r.stat.Retried++
	case JobSnoozed:
		r.stat.Snoozed++
	case JobCanceled:
		r.stat.Canceled++
	case JobDiscarded:
		r.stat.Discarded++
	default: // released, or lost
		return
	}
	if !begun.IsZero() {
		r.stat.Run.Add(e.Elapsed)
	}
	r.changes++
}

// saw records how many jobs of queues are queued and running.
func (t *counters) saw(now time.Time, queues []QueueInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range queues {
		r := t.row(now, &Job{Queue: q.Name})
		r.stat.Queued, r.stat.Running = max(r.stat.Queued, q.Queued), max(r.stat.Running, q.Running)
		r.changes++
	}
}

// row returns the row to count a job in. t.mu is held.
func (t *counters) row(now time.Time, j *Job) *counterRow {
	if !t.minute.IsZero() && !now.Before(t.until) {
		t.closeMinute(now)
	}
	if r := t.last; r != nil && r.stat.Kind == j.Kind && r.stat.Queue == j.Queue {
		return r
	}
	key := counterKey{j.Queue, j.Kind}
	r := t.open[key]
	if r == nil && len(t.open) >= counterKinds {
		key.kind = ""
		r = t.open[key]
	}
	if r == nil {
		if t.open == nil {
			t.open = map[counterKey]*counterRow{}
		}
		r = &counterRow{stat: Stat{Minute: t.minute, Worker: t.worker, Queue: key.queue, Kind: key.kind}}
		t.open[key] = r
	}
	t.last = r
	return r
}

// closeMinute closes the rows when a new minute has begun by the store's clock. If that clock was set back, the minute continues until it is over
// again: starting it a second time would create rows that count less than those already reported.
func (t *counters) closeMinute(now time.Time) {
	theirs := t.clock.at(now)
	minute := theirs.Truncate(time.Minute)
	t.until = now.Add(minute.Add(time.Minute).Sub(theirs))
	if !minute.After(t.minute) {
		return
	}
	for _, r := range t.open {
		t.closed = append(t.closed, r)
	}
	t.closed = slices.DeleteFunc(t.closed, func(r *counterRow) bool { return r.reported == r.changes || minute.Sub(r.stat.Minute) > rowsKept })
	t.minute, t.open, t.last = minute, nil, nil
}

// noteClock starts the first minute, once the time by the store's clock is known.
func (t *counters) noteClock(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.minute.IsZero() {
		open := t.open
		t.closeMinute(now)
		t.open, t.closed = open, nil // what was counted before the first answer belongs to its minute
		for _, r := range open {
			r.stat.Minute = t.minute
		}
	}
}

// A countersReport has the rows that are being sent to the store.
type countersReport struct {
	rows    []*counterRow
	changes []uint64
}

// report returns the rows that have changed since the store took them, at most every two seconds, unless it is the last report.
func (t *counters) report(now time.Time, last bool) ([]Stat, countersReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var stats []Stat
	var reported countersReport
	if t.minute.IsZero() || now.Sub(t.reported) < reportEach && !last {
		return nil, reported
	}
	add := func(r *counterRow) {
		if r.changes != r.reported && len(stats) < rowsAtOnce {
			stats = append(stats, r.stat)
			reported.rows, reported.changes = append(reported.rows, r), append(reported.changes, r.changes)
		}
	}
	for _, r := range t.closed {
		add(r)
	}
	for _, r := range t.open {
		add(r)
	}
	if len(stats) > 0 {
		t.reported = now
	}
	return stats, reported
}

// taken records that the store has the rows of a report.
func (t *counters) taken(reported countersReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range reported.rows {
		r.reported = max(r.reported, reported.changes[i])
	}
	t.closed = slices.DeleteFunc(t.closed, func(r *counterRow) bool { return r.reported == r.changes })
}
