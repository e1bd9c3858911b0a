// Package lanelaw tests that what processes know of limit keys matches their database.
package lanelaw

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// A Database is an empty database with tables, which processes share.
type Database struct {
	Open   func() (job.Store, error) // as another process
	Fail   func(on bool) error       // while it is on, claims of some jobs fail after they have taken these
	Forget func() error              // loses the log of changes, as if it were too old

	// Late inserts jobs in a transaction, calls meanwhile, and commits or rolls it back. It is nil for a database that allows no other writes during
	// that.
	Late func(jobs []*job.Job, meanwhile func(), commit bool) error
}

// A law has two stores of one database, as two processes have them, and the jobs that they have claimed.
type law struct {
	*rapid.T
	db     Database
	stores [2]job.Store
	held   []*job.Job
	limits job.Limits
}

// Check lets two processes do anything to jobs with limit keys. What each of them knows must match the database, and no job that may start is left
// over.
func Check(t *testing.T, fresh func(t *rapid.T) Database) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &law{T: rt, db: fresh(rt)}
		for i := range l.stores {
			l.open(i)
		}
		defer func() {
			for _, s := range l.stores {
				_ = s.Close()
			}
		}()
		l.limit()
		actions := map[string]func(*rapid.T){
			"insert":      func(*rapid.T) { l.insert(rapid.IntRange(1, 40).Draw(l.T, "jobs")) },
			"one":         func(*rapid.T) { l.insert(1) },
			"another":     func(*rapid.T) { l.insert(1) },
			"claim":       func(*rapid.T) { l.claim() },
			"claim more":  func(*rapid.T) { l.claim() },
			"settle":      func(*rapid.T) { l.settle() },
			"settle more": func(*rapid.T) { l.settle() },
			"throttle":    func(*rapid.T) { l.throttle() },
			"apply":       func(*rapid.T) { l.apply() },
			"check":       func(*rapid.T) { l.check() },
			"disturb":     func(*rapid.T) { l.disturb() },
		}
		if l.db.Late != nil {
			actions["late"] = func(*rapid.T) { l.late() }
		}
		rt.Repeat(actions)
		l.check()
		l.drain()
	})
}

func (l *law) any() int { return rapid.IntRange(0, 1).Draw(l.T, "store") }

func (l *law) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *law) open(i int) {
	s, err := l.db.Open()
	l.must(err)
	l.stores[i] = s
}

func (l *law) jobs(n int) (jobs []*job.Job) {
	for range n {
		key := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(l.T, "key")
		kind := rapid.SampledFrom([]string{"k", "other"}).Draw(l.T, "kind")
		j, err := job.New(kind, []byte("null"), job.LimitKey(key), job.Priority(rapid.IntRange(4, 6).Draw(l.T, "priority")),
			job.In(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, time.Hour}).Draw(l.T, "delay")))
		l.must(err)
		jobs = append(jobs, j)
	}
	return jobs
}

func (l *law) insert(n int) {
	_, err := l.stores[l.any()].Insert(l.Context(), l.jobs(n)...)
	l.must(err)
}

// disturb makes a process lose what it knows, or changes limits, or does nothing, so that this is rarer than the other actions.
func (l *law) disturb() {
	switch rapid.IntRange(0, 7).Draw(l.T, "disturbed") {
	case 0:
		i := l.any()
		_ = l.stores[i].Close() // returns nil
		l.open(i)
	case 1:
		l.must(l.db.Forget())
	case 2:
		l.fail()
	case 3:
		l.limit()
	}
}

// late inserts jobs in a transaction that ends only after other claims and inserts.
func (l *law) late() {
	l.must(l.db.Late(l.jobs(2), func() {
		l.claim()
		l.insert(1)
		l.claim()
	}, rapid.Bool().Draw(l.T, "committed")))
}

func (l *law) claim() {
	l.claimFrom(l.any(), rapid.IntRange(1, 40).Draw(l.T, "limit"), rapid.SampledFrom([][]string{nil, nil, {"k"}}).Draw(l.T, "kinds"))
}

func (l *law) claimFrom(store, n int, kinds []string) []*job.Job {
	jobs, err := l.tryClaim(store, n, kinds)
	l.must(err)
	return jobs
}

func (l *law) tryClaim(store, n int, kinds []string) ([]*job.Job, error) {
	claimed, err := l.stores[store].Claim(l.Context(), job.Claim{
		Worker: "w", Session: job.Session(1 + store), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: time.Hour, Kinds: kinds,
	})
	for _, j := range claimed.Jobs {
		j.Worker = fmt.Sprint(store)
	}
	l.held = append(l.held, claimed.Jobs...)
	return claimed.Jobs, err
}

func (l *law) settle() {
	l.settleSome(rapid.IntRange(0, len(l.held)).Draw(l.T, "settled"), func(j *job.Job) job.Outcome {
		switch rapid.IntRange(0, 5).Draw(l.T, "outcome") {
		case 0:
			j.State, j.Delay = job.Queued, time.Millisecond
		case 1:
			j.State = job.Discarded
		default:
			j.State = job.Completed
		}
		return job.Outcome{Job: j}
	})
}

// throttle settles a job as throttled by the upstream of its key.
func (l *law) throttle() {
	l.settleSome(min(1, len(l.held)), func(j *job.Job) job.Outcome {
		j.State = job.Queued
		return job.Outcome{Job: j, Throttle: time.Millisecond}
	})
}

func (l *law) settleSome(n int, end func(j *job.Job) job.Outcome) {
	outcomes := map[string][]job.Outcome{}
	for _, j := range l.held[:n] {
		by := j.Worker
		outcomes[by] = append(outcomes[by], end(j))
	}
	l.held = l.held[n:]
	for by, of := range outcomes {
		session := job.Session(1)
		if by == "1" {
			session = 2
		}
		lost, err := l.stores[l.any()].Settle(l.Context(), session, of...)
		if l.must(err); len(lost) > 0 {
			l.Fatalf("%d jobs were lost", len(lost))
		}
	}
}

func (l *law) limit() {
	l.limits = rapid.SampledFrom([]job.Limits{
		{},
		{EachKey: job.KeyLimits{Running: 2}},
		{EachKey: job.KeyLimits{Running: 4, Weight: 2}},
		{EachKey: job.KeyLimits{InOrder: true}},
		{Running: 20, EachKey: job.KeyLimits{Running: job.MaxLimit}},
		{EachKey: job.KeyLimits{Starts: job.Rate{N: 2, Per: 10 * time.Millisecond}}},
	}).Draw(l.T, "limits")
	l.must(l.stores[l.any()].SetLimits(l.Context(), job.DefaultQueue, l.limits))
}

func (l *law) apply() {
	action := rapid.SampledFrom([]job.Action{
		{From: []job.State{job.Queued}, To: job.Queued, Priority: 9},
		{From: []job.State{job.Queued}, To: job.Queued, Due: true},
		{From: []job.State{job.Queued}, To: job.Canceled},
		{From: []job.State{job.Discarded, job.Canceled}, To: job.Queued},
		{From: []job.State{job.Queued}, To: job.Queued, Queue: "elsewhere"},
	}).Draw(l.T, "action")
	_, err := l.stores[l.any()].Apply(l.Context(), job.Filter{Limit: rapid.IntRange(1, 5).Draw(l.T, "applied")}, action)
	l.must(err)
}

// fail makes a claim fail after it has taken jobs, which must have no effect.
func (l *law) fail() {
	l.must(l.db.Fail(true))
	_, _ = l.tryClaim(l.any(), 40, nil) // it succeeds if no due job makes it fail
	l.must(l.db.Fail(false))
}

// check compares what both processes know with the database.
func (l *law) check() {
	for i, s := range l.stores {
		for range 3 {
			pruned, err := s.Prune(l.Context(), nil, 10)
			if l.must(err); len(pruned.Repaired) > 0 {
				l.Fatalf("store %d repaired %+v", i, pruned.Repaired)
			}
		}
	}
}

// drain claims until no job may start, and checks that no key has due jobs while fewer of its jobs run than may.
func (l *law) drain() {
	if l.limits.EachKey.Starts.N > 0 {
		l.limits = job.Limits{}
		l.must(l.stores[0].SetLimits(l.Context(), job.DefaultQueue, l.limits))
	}
	time.Sleep(2 * time.Millisecond) // jobs that were delayed by 1 ms are due
	for empty := 0; empty < 2; {
		for i := range l.stores {
			if len(l.claimFrom(i, 7, nil)) > 0 {
				empty = 0
			} else {
				empty++
			}
		}
	}
	due, running, all := map[string]int{}, map[string]int{}, 0
	before := time.Now().Add(-time.Millisecond)
	for _, state := range []job.State{job.Queued, job.Running} {
		found, err := l.stores[0].List(l.Context(), job.Filter{Queues: []string{job.DefaultQueue}, States: []job.State{state}, Limit: 100_000})
		l.must(err)
		for _, j := range found {
			switch {
			case state == job.Running:
				running[j.LimitKey]++
				all++
			case j.RunAt.Before(before):
				due[j.LimitKey]++
			}
		}
	}
	if l.limits.Running > 0 && all >= l.limits.Running {
		return
	}
	atOnce := l.limits.EachKey.AtOnce()
	for key, n := range due {
		inOrder := l.limits.EachKey.InOrder && key != "" // the first of them may be for later
		if !inOrder && (key == "" || atOnce == 0 || running[key] < atOnce) {
			l.Errorf("key %q has %d jobs due, and %d run of %d", key, n, running[key], atOnce)
		}
	}
}
