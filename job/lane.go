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
	Served   int       // jobs that started in this turn, which ends with the weight of the key
	Running  int       // how many jobs of the key run
	Full     time.Time // of the rate of its starts, see [Rate.Take]
	Paid     time.Time // of the rate of its units, see [Rate.Charge]
	Held     time.Time // no job starts before, see [Throttled]
	Own      KeyLimits // of the key alone, see [Override]; zero where it has none
}

// left returns how many jobs of the lane may start.
func (l *Lane) left(limits Limits, now time.Time) int {
	if l.Key == "" {
		return math.MaxInt
	}
	of := limits.OfKey(l.Own)
	if l.Held.After(now) || of.Units.Left(l.Paid, now) == 0 {
		return 0
	}
	return min(free(of.AtOnce(), l.Running), of.Starts.Left(l.Full, now))
}

// weight returns how many jobs of the lane start in one turn.
func (l *Lane) weight(limits Limits) int {
	if l.Key == "" {
		return 1
	}
	return max(limits.OfKey(l.Own).Weight, 1)
}

// begun returns how many jobs of its turn have started. Where the weight was lowered since, one is left.
func (l *Lane) begun(weight int) int { return min(l.Served, weight-1) }

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
	of := limits.OfKey(l.Own)
	return later(later(of.Starts.Next(l.Full, now), of.Units.Next(l.Paid, now)), l.Held)
}

// Idle returns from when on nothing need be kept of a lane without jobs. Its rates are kept for as long as they say how late the next start may
// come: [Rate.Take] of a lane that was forgotten before would let the one after that come too early.
func (l *Lane) Idle() time.Time { return later(later(l.Full, l.Paid).Add(lateStart), l.Held) }

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

	// Keep writes Turn, Served, Full and Paid of lanes that jobs were taken from, or might have been. A lane whose priority is another then,
	// since it has no more due jobs of this one, or may not start them, goes to the end: it gets a new Turn, of which none is served.
	Keep(lanes []Lane) error
}

// Taken is how many jobs were taken of a lane, and what they cost together.
type Taken struct{ N, Cost int }

// A LaneQueue is what a store keeps of the queue itself.
type LaneQueue struct {
	Limits    Limits
	Overrides int       // how many keys have limits of their own
	Running   int       // how many of its jobs run
	Turn      int64     // the last that was given; it only grows
	Full      time.Time // of the rate of its starts
	Paid      time.Time // of the rate of its units
	Held      time.Time // no job starts before, see [Throttled]
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
		l.Paid = q.Limits.OfKey(l.Own).Units.Charge(l.Paid, now, units)
	}
}

// Use describes the queue and one of its lanes.
func (q *LaneQueue) Use(l Lane, now time.Time) LimitUse {
	use := LimitUse{
		Limits: q.Limits, QueueRunning: q.Running, QueueNext: q.Limits.Starts.Next(q.Full, now).Sub(now), QueueHeld: max(q.Held.Sub(now), 0), Now: now,
		QueueUnits: q.Limits.Units.Next(q.Paid, now).Sub(now), Overrides: q.Overrides,
	}
	if l.Key != "" {
		of := q.Limits.OfKey(l.Own)
		use.Own, use.KeyRunning, use.KeyHeld = l.Own, l.Running, max(l.Held.Sub(now), 0)
		use.KeyNext, use.KeyUnits = of.Starts.Next(l.Full, now).Sub(now), of.Units.Next(l.Paid, now).Sub(now)
	}
	return use
}

// TakeTurns takes up to n due jobs of a queue by priority, and of one priority in turns (weighted round robin): each lane gives as many jobs as
// its weight and goes to the end, so that a lane waits for no more than that many starts of each other lane, and one that waits alone gives all.
// A lane whose turn is not used up keeps its place for the next call. It changes q, and returns how many it took.
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

// mostDealt is how many jobs are dealt out at once, one after the other: a claim may have a limit far above what there is.
const mostDealt = 10_000

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
		first := after == 0
		switch {
		case err != nil:
			return false, err
		case len(lanes) > 0 && lanes[0].Priority == t.top:
		case taken > 0: // as long as this priority gives any, it is asked again
			return true, nil
		case len(lanes) == 0:
			return false, nil
		default:
			t.top, first = lanes[0].Priority, true
		}
		// Only where these are all lanes, one may give more than its turn.
		want, asked := t.shares(lanes, first && len(lanes) < t.left)
		turn := lanes[asked-1].Turn
		n, got, err := t.take(lanes, want)
		if err != nil {
			return false, err
		}
		if after = turn; lanes[asked-1].Turn == turn && got[asked-1].N > 0 && got[asked-1].N == want[asked-1] {
			after-- // the turn of the last one goes on
		}
		taken += n
	}
	return true, nil
}

// take takes the shares of some lanes, and returns how many jobs that are, and of each lane.
func (t *turns) take(lanes []Lane, want []int) (taken int, got []Taken, err error) {
	if t.haveUnits(lanes) {
		costs, err := t.lanes.Costs(lanes, want)
		if err != nil {
			return 0, nil, err
		}
		want = t.affordable(lanes, costs)
	}
	if got, err = t.lanes.Take(lanes, want); err != nil {
		return 0, nil, err
	}
	t.endTurns(lanes, got)
	cost := 0
	for i := range lanes {
		if got[i].N == 0 {
			continue
		}
		l := &lanes[i]
		l.Running += got[i].N
		if l.Key != "" {
			of := t.q.Limits.OfKey(l.Own)
			l.Full = of.Starts.Take(l.Full, t.now, got[i].N)
			l.Paid = of.Units.Charge(l.Paid, t.now, got[i].Cost)
		}
		taken += got[i].N
		cost += got[i].Cost
	}
	t.q.Paid = t.q.Limits.Units.Charge(t.q.Paid, t.now, cost)
	t.taken += taken
	if t.left -= taken; t.q.Limits.Units.Left(t.q.Paid, t.now) == 0 {
		t.left = 0
	}
	return taken, got, t.lanes.Keep(lanes)
}

// endTurns gives lanes that have used up their turns new ones, at the end.
func (t *turns) endTurns(lanes []Lane, got []Taken) {
	last, ended := make([]int, len(lanes)), make([]int, len(lanes))
	for i := range lanes {
		weight := lanes[i].weight(t.q.Limits)
		all := lanes[i].begun(weight) + got[i].N
		last[i], ended[i], lanes[i].Served = i, all/weight, all%weight
	}
	// Whose turns ended more often was last in turn: of two that could have had more, they differ by one at most.
	slices.SortStableFunc(last, func(a, b int) int { return cmp.Compare(ended[a], ended[b]) })
	for _, i := range last {
		if ended[i] > 0 {
			t.q.Turn++
			lanes[i].Turn = t.q.Turn
		}
	}
}

// haveUnits reports whether units bound what starts of some lanes.
func (t *turns) haveUnits(lanes []Lane) bool {
	return t.q.Limits.Units.N > 0 || slices.ContainsFunc(lanes, func(l Lane) bool { return l.Key != "" && t.q.Limits.OfKey(l.Own).Units.N > 0 })
}

// shares deals out what is left among the lanes that may start more, a turn to each, or as many as there are where they are all. Where that is not
// enough for all, the first asked of them have had theirs, but for the last, whose turn may go on.
func (t *turns) shares(lanes []Lane, all bool) (want []int, asked int) {
	want, may, n := make([]int, len(lanes)), make([]int, len(lanes)), min(t.left, mostDealt)
	for i := range lanes {
		may[i] = lanes[i].left(t.q.Limits, t.now)
	}
	t.deal(lanes, all, func(i int) bool {
		if n == 0 || want[i] == may[i] {
			return false
		}
		want[i]++
		n--
		return true
	})
	if asked = len(lanes); n == 0 {
		for want[asked-1] == 0 {
			asked--
		}
	}
	return want, asked
}

// affordable returns how many jobs of each lane may start that cost so much: one may while any unit is left of the queue and of its key.
func (t *turns) affordable(lanes []Lane, costs [][]int) []int {
	may, paid, queue := make([]int, len(lanes)), make([]time.Time, len(lanes)), t.q.Paid
	for i := range lanes {
		paid[i] = lanes[i].Paid
	}
	units := t.q.Limits.Units
	t.deal(lanes, true, func(i int) bool {
		of := Rate{}
		if lanes[i].Key != "" {
			of = t.q.Limits.OfKey(lanes[i].Own).Units
		}
		if len(costs[i]) == may[i] || units.Left(queue, t.now) == 0 || of.Left(paid[i], t.now) == 0 {
			return false
		}
		cost := costs[i][may[i]]
		queue, paid[i] = units.Charge(queue, t.now, cost), of.Charge(paid[i], t.now, cost)
		may[i]++
		return true
	})
	return may
}

// deal has each lane in turn start as many jobs as its weight, at first what is left of its turn, once, or for as long as start starts any.
func (t *turns) deal(lanes []Lane, again bool, start func(i int) bool) {
	for first, more := true, true; more && (first || again); first = false {
		more = false
		for i := range lanes {
			n := lanes[i].weight(t.q.Limits)
			if first {
				n -= lanes[i].begun(n)
			}
			for ; n > 0 && start(i); n-- {
				more = true
			}
		}
	}
}
