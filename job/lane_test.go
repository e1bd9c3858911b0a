package job_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// memLanes are lanes in memory, whose jobs differ in priority, and by lane in cost.
type memLanes struct {
	byKey      map[string]*memLane
	q          *job.LaneQueue
	now        time.Time
	order      []string // keys of the jobs that were taken
	priorities []int    // of the same jobs
}

type memLane struct {
	job.Lane // its Priority is 0 while none of its jobs may start
	cost     int
	due      [job.HighestPriority + 1]int
}

// settle moves a lane to the end if its highest priority has changed.
func (l *memLane) settle(q *job.LaneQueue, now time.Time) {
	priority := 0
	for p, due := range l.due {
		if due > 0 && l.Open(q.Limits, now) {
			priority = p
		}
	}
	if priority != l.Priority {
		q.Turn++
		l.Turn, l.Served, l.Priority = q.Turn, 0, priority
	}
}

func (m *memLanes) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	for p := top; p > 0; p-- {
		var found []job.Lane
		for _, l := range m.byKey {
			if l.due[p] > 0 && l.Open(m.q.Limits, m.now) && (p < top || l.Turn > after && l.Turn <= until) {
				o := l.Lane
				o.Priority = p
				found = append(found, o)
			}
		}
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
			return found[:min(n, len(found))], nil
		}
	}
	return nil, nil
}

func (m *memLanes) Costs(lanes []job.Lane, want []int) ([][]int, error) {
	costs := make([][]int, len(lanes))
	for i, l := range lanes {
		costs[i] = slices.Repeat([]int{m.byKey[l.Key].cost}, min(want[i], m.byKey[l.Key].due[l.Priority]))
	}
	return costs, nil
}

func (m *memLanes) Take(lanes []job.Lane, want []int) ([]job.Taken, error) {
	got := make([]job.Taken, len(lanes))
	for i, l := range lanes {
		due := &m.byKey[l.Key].due[l.Priority]
		n := min(want[i], *due)
		got[i] = job.Taken{N: n, Cost: n * m.byKey[l.Key].cost}
		*due -= n
		for range n {
			m.order = append(m.order, l.Key)
			m.priorities = append(m.priorities, l.Priority)
		}
	}
	return got, nil
}

func (m *memLanes) Keep(lanes []job.Lane) error {
	for _, l := range lanes {
		of := m.byKey[l.Key]
		l.Priority = of.Priority
		of.Lane = l
		of.settle(m.q, m.now)
	}
	return nil
}

// turnsCase is a queue with some lanes, in two copies.
type turnsCase struct {
	q, naiveQ    job.LaneQueue
	lanes, naive map[string]*memLane
	now          time.Time
}

func drawTurns(t *rapid.T, highest int) *turnsCase {
	rate := func(name string) job.Rate {
		if rapid.Bool().Draw(t, name) {
			return job.Rate{N: 1, Per: time.Hour, Burst: rapid.IntRange(1, 8).Draw(t, name+" burst")}
		}
		return job.Rate{}
	}
	ofKey := func(of string) job.KeyLimits {
		return job.KeyLimits{
			Running: rapid.IntRange(0, 5).Draw(t, "limit of "+of), Starts: rate("rate of " + of), Units: rate("units of " + of),
			Weight: rapid.IntRange(0, 4).Draw(t, "weight of "+of),
		}
	}
	c := &turnsCase{lanes: map[string]*memLane{}, naive: map[string]*memLane{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.q = job.LaneQueue{Running: rapid.IntRange(0, 5).Draw(t, "running"), Limits: job.Limits{
		Running: rapid.IntRange(0, 12).Draw(t, "limit"), Starts: rate("rate"), Units: rate("units"), EachKey: ofKey("each key"),
	}}
	cost := func() int { return rapid.IntRange(0, 4).Draw(t, "cost") }
	if highest > 4 { // otherwise the number of starts would depend on which jobs start, and that on how lanes change their priority
		all := cost()
		cost = func() int { return all }
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "keys") {
		key := fmt.Sprint(i)
		if i == 0 {
			key = ""
		}
		l := memLane{cost: cost(), Lane: job.Lane{Key: key, Running: rapid.IntRange(0, 3).Draw(t, "running of key")}}
		if i > 0 && rapid.Bool().Draw(t, "limits of its own") {
			l.Own = ofKey("key " + key)
		}
		for range 2 {
			l.due[rapid.IntRange(4, highest).Draw(t, "priority")] += rapid.IntRange(0, 6).Draw(t, "jobs")
		}
		l.settle(&c.q, c.now)
		l.Served = rapid.IntRange(0, 4).Draw(t, "served")
		same := l
		c.lanes[key], c.naive[key] = &l, &same
	}
	c.naiveQ = c.q
	return c
}

// claim compares a claim of up to n jobs with the naive algorithm. Within one claim the order of the lanes does not matter, nor, with several
// priorities, the order in which lanes change from one priority to another.
func (c *turnsCase) claim(t *rapid.T, n, highest int) {
	want, priorities := oneByOne(c.naive, &c.naiveQ, n, c.now)
	m := &memLanes{byKey: c.lanes, q: &c.q, now: c.now}
	got, err := job.TakeTurns(m, &c.q, n, c.now)
	if err != nil || got != len(m.order) {
		t.Fatalf("took %d jobs, %v, and returned %d", len(m.order), err, got)
	}
	slices.Sort(want)
	slices.Sort(m.order)
	if highest == 4 && !slices.Equal(m.order, want) {
		t.Fatalf("took jobs of %q, want %q", m.order, want)
	}
	if !slices.Equal(m.priorities, priorities) {
		t.Fatalf("took jobs of priorities %v, want %v", m.priorities, priorities)
	}
}

// TestTakeTurns compares a claim with a naive algorithm, which takes one job after the other: each from the lane that may start a job of the
// highest priority and has waited longest.
func TestTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drawTurns(t, 6).claim(t, rapid.IntRange(0, 20).Draw(t, "n"), 6) })
}

// TestTurnsOfClaims does the same for several claims of one priority: a turn continues in the next claim.
func TestTurnsOfClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawTurns(t, 4)
		for range rapid.IntRange(1, 12).Draw(t, "claims") {
			c.claim(t, rapid.IntRange(0, 9).Draw(t, "n"), 4)
			key := rapid.SampledFrom(slices.Sorted(maps.Keys(c.lanes))).Draw(t, "more of key")
			more := rapid.IntRange(0, 6).Draw(t, "more")
			c.lanes[key].due[4] += more
			c.naive[key].due[4] += more
			c.lanes[key].settle(&c.q, c.now)
			c.naive[key].settle(&c.naiveQ, c.now)
		}
	})
}

func oneByOne(lanes map[string]*memLane, q *job.LaneQueue, n int, now time.Time) (taken []string, priorities []int) {
	for len(taken) < n && q.Left(now) > 0 {
		var next *memLane
		priority := 0
		for _, l := range lanes {
			for p := job.HighestPriority; p > 0; p-- {
				if l.due[p] > 0 && l.Open(q.Limits, now) && (next == nil || p > priority || p == priority && l.Turn < next.Turn) {
					next, priority = l, p
				}
			}
		}
		if next == nil {
			break
		}
		taken, priorities = append(taken, next.Key), append(priorities, priority)
		next.due[priority]--
		next.Running++
		of, weight := job.KeyLimits{}, 1
		if next.Key != "" {
			of = q.Limits.OfKey(next.Own)
			weight = max(of.Weight, 1)
		}
		if next.Served++; next.Served >= weight {
			q.Turn++
			next.Turn, next.Served = q.Turn, 0
		}
		next.Full = of.Starts.Take(next.Full, now, 1)
		next.Paid = of.Units.Charge(next.Paid, now, next.cost)
		q.Running++
		q.Full = q.Limits.Starts.Take(q.Full, now, 1)
		q.Paid = q.Limits.Units.Charge(q.Paid, now, next.cost)
		next.settle(q, now)
	}
	return taken, priorities
}

// TestShares: among keys that always have jobs, each key gets its share by weight to within one turn, whatever the sizes of claims.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		q := job.LaneQueue{Limits: job.Limits{EachKey: job.KeyLimits{Weight: rapid.IntRange(0, 3).Draw(t, "weight of each key")}}}
		m := &memLanes{byKey: map[string]*memLane{}, q: &q, now: now}
		weights, whole := map[string]int{}, 0
		for i := range rapid.IntRange(1, 6).Draw(t, "keys") {
			l := &memLane{Lane: job.Lane{Key: fmt.Sprint("k", i)}}
			l.due[5] = 1 << 30
			weights[l.Key] = max(q.Limits.EachKey.Weight, 1)
			if w := rapid.IntRange(0, 9).Draw(t, "weight"); w > 0 {
				l.Own, weights[l.Key] = job.KeyLimits{Weight: w}, w
			}
			whole += weights[l.Key]
			l.settle(&q, now)
			m.byKey[l.Key] = l
		}
		started := map[string]int{}
		for range rapid.IntRange(1, 50).Draw(t, "claims") {
			n := rapid.IntRange(1, 40).Draw(t, "n")
			if got, err := job.TakeTurns(m, &q, n, now); err != nil || got != n {
				t.Fatalf("took %d of %d, %v", got, n, err)
			}
			for _, key := range m.order[len(m.order)-n:] {
				started[key]++
			}
			for key, weight := range weights {
				if off := started[key]*whole - len(m.order)*weight; max(off, -off) > weight*whole {
					t.Fatalf("key %s of weight %d has started %d of %d jobs, of weights %v", key, weight, started[key], len(m.order), weights)
				}
			}
		}
	})
}

// TestOneJobWaitsForItsTurn: a job waits for at most as many starts of each other key as the weight of that key.
func TestOneJobWaitsForItsTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		q := job.LaneQueue{}
		m := &memLanes{byKey: map[string]*memLane{}, q: &q, now: now}
		add := func(key string, jobs, weight int) {
			l := &memLane{Lane: job.Lane{Key: key, Own: job.KeyLimits{Weight: weight}}}
			l.due[5] = jobs
			l.settle(&q, now)
			m.byKey[key] = l
		}
		claim := func(n int) {
			if _, err := job.TakeTurns(m, &q, n, now); err != nil {
				t.Fatal(err)
			}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "keys") {
			add(fmt.Sprint("k", i), 1<<30, rapid.IntRange(1, 9).Draw(t, "weight"))
		}
		claim(rapid.IntRange(0, 60).Draw(t, "before"))
		add("one", 1, 1)
		waited := map[string]int{}
		for {
			claim(1)
			key := m.order[len(m.order)-1]
			if key == "one" {
				return
			}
			if waited[key]++; waited[key] > m.byKey[key].Own.Weight {
				t.Fatalf("the job waits for %d starts of a key of weight %d", waited[key], m.byKey[key].Own.Weight)
			}
		}
	})
}

// TestIdleLaneMayBeForgotten: once a lane is idle, its rates accept starts as those of a new lane do.
func TestIdleLaneMayBeForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := job.Rate{
			N: rapid.IntRange(1, 5000).Draw(t, "n"), Per: time.Duration(rapid.Int64Range(500_000, 3600_000_000).Draw(t, "per in µs")) * time.Microsecond,
			Burst: rapid.IntRange(0, 100).Draw(t, "burst"),
		}
		last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l := job.Lane{Full: r.Take(time.Time{}, last, 1), Paid: r.Charge(time.Time{}, last, 1)}
		now := l.Idle().Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "after in µs")) * time.Microsecond)
		n := rapid.IntRange(1, max(r.Burst, 1)).Draw(t, "start")
		if kept, forgotten := r.Take(l.Full, now, n), r.Take(time.Time{}, now, n); !kept.Equal(forgotten) {
			t.Errorf("starts: %v if the lane is kept, %v if it is not", kept, forgotten)
		}
		if kept, forgotten := r.Charge(l.Paid, now, n), r.Charge(time.Time{}, now, n); !kept.Equal(forgotten) {
			t.Errorf("units: %v if the lane is kept, %v if it is not", kept, forgotten)
		}
	})
}
