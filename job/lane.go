package job

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Lane is what a store knows of the queued jobs of a queue that have one limit key, or none, while it claims.
type Lane struct {
	Key      string    // "" is that of the jobs without a key, which EachKey does not bound
	Priority int       // that its jobs are taken of, the highest that has a due one
	Turn     int64     // lanes with the lowest come first
	Running  int       // how many jobs of the key run
	Full     time.Time // of the rate of its starts, see [Rate.Take]
	Paid     time.Time // of the rate of its units, see [Rate.Charge]
	Held     time.Time // no job starts before, see [Throttled]
}

// left returns how many jobs of the lane may start.
func (l *Lane) left(limits Limits, now time.Time) int {
	if l.Key == "" {
		return math.MaxInt
	}
	if l.Held.After(now) || limits.EachKey.Units.Left(l.Paid, now) == 0 {
		return 0
	}
	return min(free(limits.EachKey.AtOnce(), l.Running), limits.EachKey.Starts.Left(l.Full, now))
}

// free returns how many jobs may start where limit run at once and so many do.
func free(limit, running int) int {
	if limit == 0 {
		return math.MaxInt
	}
	return max(limit-running, 0)
}

// Open reports whether a job of the lane may start.
func (l *Lane) Open(limits Limits, now time.Time) bool { return l.left(limits, now) > 0 }

// Next returns when the rates, and what was throttled, let the next job of the lane start: now, or later.
func (l *Lane) Next(limits Limits, now time.Time) time.Time {
	if l.Key == "" {
		return now
	}
	return later(later(limits.EachKey.Starts.Next(l.Full, now), limits.EachKey.Units.Next(l.Paid, now)), l.Held)
}

// Idle returns from when on nothing need be kept of a lane without jobs.
func (l *Lane) Idle() time.Time { return later(later(l.Full, l.Paid), l.Held) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Lanes are the lanes of one queue, which no other call claims from meanwhile, for [TakeTurns]. A store implements it.
type Lanes interface {
	// Open returns up to n lanes with a due job of the highest priority, from top down, that any has one of, by Turn, and that priority. Of the
	// priority top only those whose Turn is more than after and at most until count. Lanes that are not [Lane.Open] may be left out.
	// So may, where all kinds are claimed, a priority of a lane that has due jobs of a higher one.
	Open(top int, after, until int64, n int) ([]Lane, error)

	// Costs returns what the jobs cost that Take would take of each lane, in their order. It is asked only where there are limits of units.
	Costs(lanes []Lane, want []int) ([][]int, error)

	// Take gives up to want[i] of the due jobs of lanes[i] that have its priority to the worker, in their order, and returns what it
	// took of each. They are fewer where there are fewer of the kinds that are claimed. Where the jobs of a key run in order, only the
	// first of them is taken, if it is due.
	Take(lanes []Lane, want []int) ([]Taken, error)

	// Keep writes Turn, Full and Paid of lanes that jobs were taken from, or might have been.
	Keep(lanes []Lane) error
}

// Taken is how many jobs were taken of a lane, and what they cost together.
type Taken struct{ N, Cost int }

// A LaneQueue is what a store keeps of the queue itself.
type LaneQueue struct {
	Limits  Limits
	Running int       // how many of its jobs run
	Turn    int64     // the last that was given; it only grows
	Full    time.Time // of the rate of its starts
	Paid    time.Time // of the rate of its units
	Held    time.Time // no job starts before, see [Throttled]
}

// Left returns how many jobs of the queue may start.
func (q *LaneQueue) Left(now time.Time) int {
	if q.Held.After(now) || q.Limits.Units.Left(q.Paid, now) == 0 {
		return 0
	}
	return min(free(q.Limits.Running, q.Running), q.Limits.Starts.Left(q.Full, now))
}

// Next returns when the rates, and what was throttled, let the next job start: now, or later.
func (q *LaneQueue) Next(now time.Time) time.Time {
	return later(later(q.Limits.Starts.Next(q.Full, now), q.Limits.Units.Next(q.Paid, now)), q.Held)
}

// Book counts units that a job of a lane used more than it cost when it started, or fewer, in the queue and in the lane, see [Outcome].
func (q *LaneQueue) Book(l *Lane, units int, now time.Time) {
	q.Paid = q.Limits.Units.Charge(q.Paid, now, units)
	if l.Key != "" {
		l.Paid = q.Limits.EachKey.Units.Charge(l.Paid, now, units)
	}
}

// Use describes the queue and one of its lanes.
func (q *LaneQueue) Use(l Lane, now time.Time) LimitUse {
	use := LimitUse{
		Limits: q.Limits, QueueRunning: q.Running, QueueNext: q.Limits.Starts.Next(q.Full, now).Sub(now), QueueHeld: max(q.Held.Sub(now), 0), Now: now,
		QueueUnits: q.Limits.Units.Next(q.Paid, now).Sub(now),
	}
	if l.Key != "" {
		use.KeyRunning, use.KeyNext, use.KeyHeld = l.Running, q.Limits.EachKey.Starts.Next(l.Full, now).Sub(now), max(l.Held.Sub(now), 0)
		use.KeyUnits = q.Limits.EachKey.Units.Next(l.Paid, now).Sub(now)
	}
	return use
}

// TakeTurns takes up to n due jobs of a queue by priority, and of one priority in turns: each lane gives one job and goes to the end, so that
// a lane waits for no more than one start of each other lane, and one that waits alone gives all. It changes q, and returns how many it took.
func TakeTurns(lanes Lanes, q *LaneQueue, n int, now time.Time) (int, error) {
	t := turns{lanes: lanes, q: q, now: now, left: min(n, q.Left(now)), top: HighestPriority}
	for more := true; more && t.left > 0; {
		var err error
		if more, err = t.round(); err != nil {
			return 0, err
		}
	}
	q.Running += t.taken
	q.Full = q.Limits.Starts.Take(q.Full, now, t.taken)
	return t.taken, nil
}

type turns struct {
	lanes Lanes
	q     *LaneQueue
	now   time.Time
	left  int
	taken int
	top   int // the priority that is taken from
}

// round asks each lane of the highest priority that is left for its share. It reports whether there may be more.
func (t *turns) round() (bool, error) {
	taken, after, until := 0, int64(0), t.q.Turn
	for t.left > 0 {
		lanes, err := t.lanes.Open(t.top, after, until, t.left)
		switch {
		case err != nil:
			return false, err
		case len(lanes) > 0 && lanes[0].Priority == t.top:
		case taken > 0: // as long as this priority gives any, it is asked again
			return true, nil
		case len(lanes) == 0:
			return false, nil
		default:
			t.top = lanes[0].Priority
		}
		after = lanes[len(lanes)-1].Turn
		n, err := t.take(lanes)
		if err != nil {
			return false, err
		}
		taken += n
	}
	return true, nil
}

// take takes the shares of some lanes.
func (t *turns) take(lanes []Lane) (int, error) {
	want := t.shares(lanes)
	if t.q.Limits.Units.N > 0 || t.q.Limits.EachKey.Units.N > 0 {
		costs, err := t.lanes.Costs(lanes, want)
		if err != nil {
			return 0, err
		}
		want = t.affordable(lanes, costs)
	}
	got, err := t.lanes.Take(lanes, want)
	if err != nil {
		return 0, err
	}
	// Who has got more was last in turn: of two that could have had more, their shares differ by one at most.
	last := make([]int, len(lanes))
	for i := range last {
		last[i] = i
	}
	slices.SortStableFunc(last, func(a, b int) int { return cmp.Compare(got[a].N, got[b].N) })
	taken, cost := 0, 0
	for _, i := range last {
		if got[i].N == 0 {
			continue
		}
		l := &lanes[i]
		t.q.Turn++
		l.Turn = t.q.Turn
		l.Running += got[i].N
		if l.Key != "" {
			l.Full = t.q.Limits.EachKey.Starts.Take(l.Full, t.now, got[i].N)
			l.Paid = t.q.Limits.EachKey.Units.Charge(l.Paid, t.now, got[i].Cost)
		}
		taken += got[i].N
		cost += got[i].Cost
	}
	t.q.Paid = t.q.Limits.Units.Charge(t.q.Paid, t.now, cost)
	t.taken += taken
	if t.left -= taken; t.q.Limits.Units.Left(t.q.Paid, t.now) == 0 {
		t.left = 0
	}
	return taken, t.lanes.Keep(lanes)
}

// affordable returns how many jobs of each lane may start, one of each lane in turn, whose jobs cost so much: one may while any unit is left of the queue
// and of its key.
func (t *turns) affordable(lanes []Lane, costs [][]int) []int {
	may, paid, queue := make([]int, len(lanes)), make([]time.Time, len(lanes)), t.q.Paid
	for i, l := range lanes {
		paid[i] = l.Paid
	}
	units, ofKey := t.q.Limits.Units, t.q.Limits.EachKey.Units
	for n, more := 0, true; more; n++ {
		more = false
		for i, l := range lanes {
			if units.Left(queue, t.now) == 0 {
				return may
			}
			if may[i] < n || len(costs[i]) == n || l.Key != "" && ofKey.Left(paid[i], t.now) == 0 {
				continue
			}
			queue, paid[i] = units.Charge(queue, t.now, costs[i][n]), ofKey.Charge(paid[i], t.now, costs[i][n])
			may[i]++
			more = true
		}
	}
	return may
}

// shares deals out what is left, one to each lane in turn that may start more.
func (t *turns) shares(lanes []Lane) []int {
	want := make([]int, len(lanes))
	for n := t.left; n > 0; {
		before := n
		for i := range lanes {
			if n > 0 && want[i] < lanes[i].left(t.q.Limits, t.now) {
				want[i]++
				n--
			}
		}
		if n == before {
			break
		}
	}
	return want
}
