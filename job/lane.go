package job

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Lane is the queued jobs of a queue with one limit key, or without one, as a store sees them while it claims.
type Lane struct {
	Key      string    // "" for the jobs without a key, which EachKey does not limit
	Priority int       // the highest one of its due jobs: only jobs of that priority are taken
	Turn     int64     // lanes with the lowest Turn come first
	Served   int       // how many jobs have started in this turn, which ends with the weight of the key
	Running  int       // how many jobs of the key are running
	Full     time.Time // state of the rate of starts, see [Rate.Take]
	Paid     time.Time // state of the rate of units, see [Rate.Charge]
	Held     time.Time // no job starts before that, see [Throttled]
	Own      KeyLimits // the key's own limits, see [Override]; zero if it has none
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

// begun returns how many jobs of the current turn have started. If the weight has been lowered since, one start is left.
func (l *Lane) begun(weight int) int { return min(l.Served, weight-1) }

// free returns how many more jobs may start when running of at most limit do; zero is no limit.
func free(limit, running int) int {
	if limit == 0 {
		return math.MaxInt
	}
	return max(limit-running, 0)
}

// Open reports whether a job of the lane may start.
func (l *Lane) Open(limits Limits, now time.Time) bool { return l.left(limits, now) > 0 }

// Next returns when the rates, and the throttling, allow the next job of the lane to start: now or later.
func (l *Lane) Next(limits Limits, now time.Time) time.Time {
	if l.Key == "" {
		return now
	}
	of := limits.OfKey(l.Own)
	return later(later(of.Starts.Next(l.Full, now), of.Units.Next(l.Paid, now)), l.Held)
}

// Idle returns from when on a lane without jobs may be forgotten. Until then its rates are needed: they allow for starts that come late (see
// [Rate.Take]), and if they were forgotten, a start could come too early.
func (l *Lane) Idle() time.Time { return later(later(l.Full, l.Paid).Add(lateStart), l.Held) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Lanes provides [TakeTurns] with the lanes of one queue, while no other call claims from it. A store implements it.
type Lanes interface {
	// Open returns lanes, and their priority: the highest one, from top down, that a lane has a due job of. It returns up to n lanes with such a job,
	// in the order of their Turn. If that priority is top, only lanes with after < Turn <= until count. It may leave out lanes that are not
	// [Lane.Open]. If all kinds are claimed, it may also leave out a priority of a lane that has due jobs of a higher one.
	Open(top int, after, until int64, n int) ([]Lane, error)

	// Costs returns, for each lane, the costs of the jobs that Take would take, in their order. It is called only if there are limits of units.
	Costs(lanes []Lane, want []int) ([][]int, error)

	// Take claims for the worker up to want[i] due jobs of lanes[i] that have the lane's priority, in their order, and returns what it took of each
	// lane. It takes fewer if fewer are of the claimed kinds. If the jobs of a key run in order, it takes at most the first one, if that is due.
	Take(lanes []Lane, want []int) ([]Taken, error)

	// Keep writes Turn, Served, Full and Paid of lanes from which jobs were taken, or might have been. If a lane's priority has changed, because it
	// has no more due jobs of that priority, or may not start them, it goes to the end: it gets a new Turn, with none served.
	Keep(lanes []Lane) error
}

// Taken is how many jobs were taken from a lane, and what they cost together.
type Taken struct{ N, Cost int }

// A LaneQueue is the state that a store keeps of a queue.
type LaneQueue struct {
	Limits    Limits
	Overrides int       // how many keys have limits of their own
	Running   int       // how many of its jobs are running
	Turn      int64     // the last one that was given to a lane; it only grows
	Full      time.Time // state of the rate of starts
	Paid      time.Time // state of the rate of units
	Held      time.Time // no job starts before that, see [Throttled]
}

// Left returns how many jobs of the queue may start.
func (q *LaneQueue) Left(now time.Time) int {
	if q.Held.After(now) || q.Limits.Units.Left(q.Paid, now) == 0 {
		return 0
	}
	return min(free(q.Limits.Running, q.Running), q.Limits.Starts.Left(q.Full, now))
}

// Next returns when the rates, and the throttling, allow the next job to start: now or later.
func (q *LaneQueue) Next(now time.Time) time.Time {
	return later(later(q.Limits.Starts.Next(q.Full, now), q.Limits.Units.Next(q.Paid, now)), q.Held)
}

// Book corrects the rates of the queue and of a lane when a job ends: units is how many more units it used than it cost at its start. It is negative
// if it used fewer. See [Outcome].
func (q *LaneQueue) Book(l *Lane, units int, now time.Time) {
	q.Paid = q.Limits.Units.Charge(q.Paid, now, units)
	if l.Key != "" {
		l.Paid = q.Limits.OfKey(l.Own).Units.Charge(l.Paid, now, units)
	}
}

// Use returns how far the limits of the queue and of one of its lanes are used.
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

// TakeTurns takes up to n due jobs of a queue by priority, and within a priority in turns (weighted round robin): from each lane as many jobs as
// its weight, after which the lane goes to the end. So a lane waits for at most that many starts of each other lane, and all jobs may come from a
// lane that is alone. A lane that has not used up its turn keeps its place for the next call. TakeTurns changes q, and returns how many jobs it
// took.
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

// mostDealt bounds how many jobs are dealt out in one round, one by one: the limit of a claim may be far above the number of due jobs.
const mostDealt = 10_000

type turns struct {
	lanes Lanes
	q     *LaneQueue
	now   time.Time
	left  int
	taken int
	top   int // the priority to take from
}

// round asks each lane of the highest priority left for its share. It reports whether there may be more jobs.
func (t *turns) round() (bool, error) {
	taken, after, until := 0, int64(0), t.q.Turn
	for t.left > 0 {
		lanes, err := t.lanes.Open(t.top, after, until, t.left)
		first := after == 0
		switch {
		case err != nil:
			return false, err
		case len(lanes) > 0 && lanes[0].Priority == t.top:
		case taken > 0: // ask this priority again as long as it has any jobs
			return true, nil
		case len(lanes) == 0:
			return false, nil
		default:
			t.top, first = lanes[0].Priority, true
		}
		// Only if these are all lanes may more jobs be taken from one than its turn allows.
		want, asked := t.shares(lanes, first && len(lanes) < t.left)
		turn := lanes[asked-1].Turn
		n, got, err := t.takeShares(lanes, want)
		if err != nil {
			return false, err
		}
		if after = turn; lanes[asked-1].Turn == turn && got[asked-1].N > 0 && got[asked-1].N == want[asked-1] {
			after-- // the last one has not used up its turn
		}
		taken += n
	}
	return true, nil
}

// takeShares claims the shares of lanes, and returns how many jobs it took in all, and from each lane.
func (t *turns) takeShares(lanes []Lane, want []int) (taken int, got []Taken, err error) {
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

// endTurns gives a new turn, at the end, to lanes that have used up theirs.
func (t *turns) endTurns(lanes []Lane, got []Taken) {
	last, ended := make([]int, len(lanes)), make([]int, len(lanes))
	for i := range lanes {
		weight := lanes[i].weight(t.q.Limits)
		all := lanes[i].begun(weight) + got[i].N
		last[i], ended[i], lanes[i].Served = i, all/weight, all%weight
	}
	// The lane whose turns ended most often was served last. Of two lanes that could have given more, the counts differ by at most one.
	slices.SortStableFunc(last, func(a, b int) int { return cmp.Compare(ended[a], ended[b]) })
	for _, i := range last {
		if ended[i] > 0 {
			t.q.Turn++
			lanes[i].Turn = t.q.Turn
		}
	}
}

// haveUnits reports whether the queue or the key of a lane has a limit of units.
func (t *turns) haveUnits(lanes []Lane) bool {
	return t.q.Limits.Units.N > 0 || slices.ContainsFunc(lanes, func(l Lane) bool { return l.Key != "" && t.q.Limits.OfKey(l.Own).Units.N > 0 })
}

// shares deals out t.left starts among the lanes, to each what is left of its turn. With all, lanes may get further turns until nothing is left. If
// the starts do not suffice, the first asked lanes have had their turn, except for the last of them, whose turn may continue.
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

// affordable returns how many jobs of each lane may start, given their costs: one may start while any unit is left of its queue and its key.
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

// deal lets each lane start as many jobs as its weight, the first time what is left of its turn: once, or with again until start returns false for
// all.
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
