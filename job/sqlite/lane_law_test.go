package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// laneLaw are two stores of one file, as two processes have them, and what they have claimed.
type laneLaw struct {
	*rapid.T
	path   string
	stores [2]*sqlite.Store
	held   []*job.Job
	limits job.Limits
}

// TestLaneLaw: what each of two processes knows of lanes is what the file says, whatever both do, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &laneLaw{T: rt, path: migrated(t)}
		for i := range l.stores {
			l.open(i)
		}
		l.sql("create table failing (x)")
		l.sql(`create trigger fails after update of attempt on meanwhile_job when exists (select 1 from failing) and new.seq % 3 = 0
			begin select raise(abort, 'it is to fail'); end`)
		defer func() {
			for _, s := range l.stores {
				_ = s.Close()
			}
		}()
		l.limit()
		rt.Repeat(map[string]func(*rapid.T){
			"insert": func(*rapid.T) { l.insert() },
			"claim":  func(*rapid.T) { l.claim() },
			"settle": func(*rapid.T) { l.settle() },
			"limit":  func(*rapid.T) { l.limit() },
			"apply":  func(*rapid.T) { l.apply() },
			"reopen": func(*rapid.T) { i := l.any(); _ = l.stores[i].Close(); l.open(i) },
			"forget": func(*rapid.T) { l.sql("delete from meanwhile_change where n < (select max(n) from meanwhile_change)") },
			"check":  func(*rapid.T) { l.check() },
			"fail":   func(*rapid.T) { l.fail() },
		})
		l.check()
		l.drain()
	})
}

func (l *laneLaw) any() int { return rapid.IntRange(0, 1).Draw(l.T, "store") }

func (l *laneLaw) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *laneLaw) open(i int) {
	s, err := sqlite.Open(l.Context(), l.path)
	l.must(err)
	l.stores[i] = s
}

func (l *laneLaw) sql(query string) {
	_, err := l.stores[0].DB().ExecContext(l.Context(), query)
	l.must(err)
}

func (l *laneLaw) insert() {
	var jobs []*job.Job
	for range rapid.IntRange(1, 30).Draw(l.T, "jobs") {
		key := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(l.T, "key")
		kind := rapid.SampledFrom([]string{"k", "other"}).Draw(l.T, "kind")
		j, err := job.New(kind, []byte("null"), job.LimitKey(key), job.Priority(rapid.IntRange(4, 6).Draw(l.T, "priority")),
			job.In(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, time.Hour}).Draw(l.T, "delay")))
		l.must(err)
		jobs = append(jobs, j)
	}
	_, err := l.stores[l.any()].Insert(l.Context(), jobs...)
	l.must(err)
}

func (l *laneLaw) claim() {
	l.claimFrom(l.any(), rapid.IntRange(1, 40).Draw(l.T, "limit"), rapid.SampledFrom([][]string{nil, nil, {"k"}}).Draw(l.T, "kinds"))
}

func (l *laneLaw) claimFrom(store, n int, kinds []string) (got []*job.Job) {
	claimed, err := l.stores[store].Claim(l.Context(), job.Claim{
		Worker: "w", Session: job.Session(1 + store), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: time.Hour, Kinds: kinds,
	})
	l.must(err)
	for _, j := range claimed.Jobs {
		j.Worker = fmt.Sprint(store)
	}
	l.held = append(l.held, claimed.Jobs...)
	return claimed.Jobs
}

func (l *laneLaw) settle() {
	outcomes := map[string][]job.Outcome{}
	n := rapid.IntRange(0, len(l.held)).Draw(l.T, "settled")
	for _, j := range l.held[:n] {
		by := j.Worker
		switch rapid.IntRange(0, 5).Draw(l.T, "outcome") {
		case 0:
			j.State, j.Delay = job.Queued, time.Millisecond
		case 1:
			j.State = job.Discarded
		default:
			j.State = job.Completed
		}
		outcomes[by] = append(outcomes[by], job.Outcome{Job: j})
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

func (l *laneLaw) limit() {
	l.limits = rapid.SampledFrom([]job.Limits{
		{}, {EachKey: job.KeyLimits{Running: 2}}, {EachKey: job.KeyLimits{Running: 4, Weight: 2}}, {EachKey: job.KeyLimits{InOrder: true}},
	}).Draw(l.T, "limits")
	l.must(l.stores[l.any()].SetLimits(l.Context(), job.DefaultQueue, l.limits))
}

func (l *laneLaw) apply() {
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

// fail has a claim fail after it has taken jobs: none of it counts.
func (l *laneLaw) fail() {
	l.sql("insert into failing values (1)")
	_, _ = l.stores[l.any()].Claim(l.Context(), benchClaim) // fails unless nothing is due
	l.sql("delete from failing")
}

// check compares what both processes know with the file.
func (l *laneLaw) check() {
	for i, s := range l.stores {
		for range 3 {
			pruned, err := s.Prune(l.Context(), nil, 10)
			if l.must(err); len(pruned.Repaired) > 0 {
				l.Fatalf("store %d repaired %+v", i, pruned.Repaired)
			}
		}
	}
}

// drain claims until nothing may start, and finds no key that has jobs due and fewer running than may.
func (l *laneLaw) drain() {
	time.Sleep(2 * time.Millisecond) // what was delayed by one is due
	for empty := 0; empty < 2; {
		for i := range l.stores {
			if len(l.claimFrom(i, 7, nil)) > 0 {
				empty = 0
			} else {
				empty++
			}
		}
	}
	atOnce := l.limits.EachKey.AtOnce()
	rows, err := l.stores[0].DB().QueryContext(l.Context(), `select coalesce(limit_key, ''), sum(state = 0 and run_at <= ?1), sum(state = 1) from meanwhile_job
		where state < 2 and queue = (select id from meanwhile_queue where name = 'default') group by 1`, time.Now().Add(-time.Millisecond).UnixMicro())
	l.must(err)
	defer rows.Close()
	for rows.Next() {
		var key string
		var due, running int
		l.must(rows.Scan(&key, &due, &running))
		inOrder := l.limits.EachKey.InOrder && key != "" // the first of them may be for later
		if due > 0 && !inOrder && (key == "" || atOnce == 0 || running < atOnce) {
			l.Errorf("key %q has %d jobs due, and %d run of %d", key, due, running, atOnce)
		}
	}
	l.must(rows.Err())
}
