package job_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// memLanes are lanes with jobs that differ in their priority, and by lane in what they cost.
type memLanes struct {
	byKey  map[string]*memLane
	limits job.Limits
	now    time.Time
	order  []string // keys of the jobs that were taken
}

type memLane struct {
	job.Lane
	cost int
	due  [job.HighestPriority + 1]int
}

func (m *memLanes) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	for p := top; p > 0; p-- {
		var found []job.Lane
		for _, l := range m.byKey {
			if l.due[p] > 0 && l.Open(m.limits, m.now) && (p < top || l.Turn > after && l.Turn <= until) {
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
		}
	}
	return got, nil
}

func (m *memLanes) Keep(lanes []job.Lane) error {
	for _, l := range lanes {
		m.byKey[l.Key].Lane = l
	}
	return nil
}

// TestTakeTurns compares with a naive way: one job after the other, each of the lane that may start one of the highest priority and has waited the longest.
func TestTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		rate := func(name string) job.Rate {
			if rapid.Bool().Draw(t, name) {
				return job.Rate{N: 1, Per: time.Hour, Burst: rapid.IntRange(1, 8).Draw(t, name+" burst")}
			}
			return job.Rate{}
		}
		q := job.LaneQueue{Running: rapid.IntRange(0, 5).Draw(t, "running"), Limits: job.Limits{
			Running: rapid.IntRange(0, 12).Draw(t, "limit"), Starts: rate("rate"), Units: rate("units"),
			EachKey: job.KeyLimits{Running: rapid.IntRange(0, 5).Draw(t, "limit of each key"), Starts: rate("rate of each key"), Units: rate("units of each key")},
		}}
		lanes, naive := map[string]*memLane{}, map[string]*memLane{}
		for i := range rapid.IntRange(1, 6).Draw(t, "keys") {
			key := fmt.Sprint(i)
			if i == 0 {
				key = ""
			}
			q.Turn++
			l := memLane{cost: rapid.IntRange(0, 4).Draw(t, "cost"), Lane: job.Lane{Key: key, Turn: q.Turn, Running: rapid.IntRange(0, 3).Draw(t, "running of key")}}
			for range 2 {
				l.due[rapid.IntRange(4, 6).Draw(t, "priority")] += rapid.IntRange(0, 6).Draw(t, "jobs")
			}
			same := l
			lanes[key], naive[key] = &l, &same
		}
		n := rapid.IntRange(0, 20).Draw(t, "n")
		want := oneByOne(naive, q, n, now)

		m := &memLanes{byKey: lanes, limits: q.Limits, now: now}
		got, err := job.TakeTurns(m, &q, n, now)
		if err != nil || got != len(m.order) {
			t.Fatalf("took %d, %v, and said %d", len(m.order), err, got)
		}
		// In one claim it does not matter which lane was first.
		slices.Sort(want)
		slices.Sort(m.order)
		if !slices.Equal(m.order, want) {
			t.Fatalf("took jobs of %q, want %q", m.order, want)
		}
	})
}

func oneByOne(lanes map[string]*memLane, q job.LaneQueue, n int, now time.Time) (taken []string) {
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
		taken = append(taken, next.Key)
		next.due[priority]--
		next.Running++
		q.Turn++
		next.Turn = q.Turn
		if next.Key != "" {
			next.Full = q.Limits.EachKey.Starts.Take(next.Full, now, 1)
			next.Paid = q.Limits.EachKey.Units.Charge(next.Paid, now, next.cost)
		}
		q.Running++
		q.Full = q.Limits.Starts.Take(q.Full, now, 1)
		q.Paid = q.Limits.Units.Charge(q.Paid, now, next.cost)
	}
	return taken
}
