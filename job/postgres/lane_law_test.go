package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// laneLaw are two stores of one database, as two processes have them, and what they have claimed.
type laneLaw struct {
	*rapid.T
	url    string
	pool   *pgxpool.Pool
	stores [2]*postgres.Store
	held   []*job.Job
	limits job.Limits
}

// TestLaneLaw: what each of two processes knows of lanes is what the database says, whatever both do, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	testenv.LongTest(t) // with hundreds of claims of which each is a transaction
	url := database(t, server())
	open(t, url)
	pool := connect(t, url)
	execSQL(t, pool, "create table failing (x int)")
	execSQL(t, pool, `create function fails() returns trigger language plpgsql as $$
		begin
			if exists (select from failing) and get_byte(uuid_send(new.id), 15) % 3 = 0 then raise 'it is to fail'; end if;
			return new;
		end $$`)
	execSQL(t, pool, "create trigger fails before insert on meanwhile.running for each row execute function fails()")
	rapid.Check(t, func(rt *rapid.T) {
		l := &laneLaw{T: rt, url: url, pool: pool}
		l.sql("truncate meanwhile.queued, meanwhile.running, meanwhile.finished, meanwhile.queues, meanwhile.lanes, meanwhile.touched, meanwhile.noted, meanwhile.changes, meanwhile.holders, meanwhile.counts, meanwhile.sessions, failing")
		for i := range l.stores {
			l.open(i)
		}
		defer func() {
			for _, s := range l.stores {
				_ = s.Close()
			}
		}()
		l.limit()
		rt.Repeat(map[string]func(*rapid.T){
			"insert":   func(*rapid.T) { l.insert() },
			"one":      func(*rapid.T) { l.insertOne() },
			"claim":    func(*rapid.T) { l.claim() },
			"settle":   func(*rapid.T) { l.settle() },
			"limit":    func(*rapid.T) { l.limit() },
			"apply":    func(*rapid.T) { l.apply() },
			"throttle": func(*rapid.T) { l.throttle() },
			"reopen":   func(*rapid.T) { i := l.any(); _ = l.stores[i].Close(); l.open(i) },
			"forget":   func(*rapid.T) { l.sql("delete from meanwhile.changes") },
			"late":     func(*rapid.T) { l.late() },
			"check":    func(*rapid.T) { l.check() },
			"fail":     func(*rapid.T) { l.fail() },
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
	s, err := postgres.New(l.Context(), l.pool)
	l.must(err)
	l.stores[i] = s
}

func (l *laneLaw) sql(query string) {
	_, err := l.pool.Exec(l.Context(), query)
	l.must(err)
}

func (l *laneLaw) newJob() *job.Job {
	key := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(l.T, "key")
	kind := rapid.SampledFrom([]string{"k", "other"}).Draw(l.T, "kind")
	j, err := job.New(kind, []byte("null"), job.LimitKey(key), job.Priority(rapid.IntRange(4, 6).Draw(l.T, "priority")),
		job.In(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, time.Hour}).Draw(l.T, "delay")))
	l.must(err)
	return j
}

func (l *laneLaw) insert() {
	var jobs []*job.Job
	for range rapid.IntRange(1, 60).Draw(l.T, "jobs") {
		jobs = append(jobs, l.newJob())
	}
	_, err := l.stores[l.any()].Insert(l.Context(), jobs...)
	l.must(err)
}

func (l *laneLaw) insertOne() {
	_, err := l.stores[l.any()].Insert(l.Context(), l.newJob())
	l.must(err)
}

// late has jobs that are inserted in a transaction which commits after others have claimed.
func (l *laneLaw) late() {
	tx, err := l.pool.Begin(l.Context())
	l.must(err)
	defer func() { _ = tx.Rollback(l.Context()) }() // after a commit it does nothing
	_, err = l.stores[0].Tx(tx).Insert(l.Context(), l.newJob(), l.newJob())
	l.must(err)
	l.claim()
	l.insertOne()
	l.claim()
	if rapid.Bool().Draw(l.T, "committed") {
		l.must(tx.Commit(l.Context()))
	}
}

func (l *laneLaw) claim() {
	l.claimFrom(l.any(), rapid.IntRange(1, 40).Draw(l.T, "limit"), rapid.SampledFrom([][]string{nil, nil, {"k"}}).Draw(l.T, "kinds"))
}

func (l *laneLaw) claimFrom(store, n int, kinds []string) []*job.Job {
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

// throttle has an upstream of a key say that there are too many.
func (l *laneLaw) throttle() {
	l.settleSome(min(1, len(l.held)), func(j *job.Job) job.Outcome {
		j.State = job.Queued
		return job.Outcome{Job: j, Throttle: time.Millisecond}
	})
}

func (l *laneLaw) settleSome(n int, end func(j *job.Job) job.Outcome) {
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

func (l *laneLaw) limit() {
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
	store := l.any()
	done, err := l.stores[store].Claim(l.Context(), job.Claim{
		Worker: "w", Session: job.Session(1 + store), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 40}}, Limit: 40, Lease: time.Hour,
	})
	if err == nil { // none of those that were due is to fail
		for _, j := range done.Jobs {
			j.Worker = fmt.Sprint(store)
		}
		l.held = append(l.held, done.Jobs...)
	}
	l.sql("truncate failing")
}

// check compares what both processes know with the database.
func (l *laneLaw) check() {
	for i, s := range l.stores {
		for range 2 {
			pruned, err := s.Prune(l.Context(), nil, 10)
			if l.must(err); len(pruned.Repaired) > 0 {
				l.Fatalf("store %d repaired %+v", i, pruned.Repaired)
			}
		}
	}
}

// drain claims until nothing may start, and finds no key that has jobs due and fewer running than may, nor one that has more.
func (l *laneLaw) drain() {
	if l.limits.EachKey.Starts.N > 0 {
		l.limits = job.Limits{}
		l.must(l.stores[0].SetLimits(l.Context(), job.DefaultQueue, l.limits))
	}
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
	rows, err := l.pool.Query(l.Context(), `select key, count(*) filter (where due), count(*) filter (where runs) from (
			select coalesce(limit_key, '') as key, run_at <= now() - interval '1 ms' as due, false as runs from meanwhile.queued where queue = 'default'
			union all select coalesce(limit_key, ''), false, true from meanwhile.running where queue = 'default'
		) j group by key`)
	l.must(err)
	defer rows.Close()
	running := 0
	var waiting []string
	for rows.Next() {
		var key string
		var due, runs int
		l.must(rows.Scan(&key, &due, &runs))
		running += runs
		inOrder := l.limits.EachKey.InOrder && key != "" // the first of them may be for later
		if due > 0 && !inOrder && (key == "" || atOnce == 0 || runs < atOnce) {
			waiting = append(waiting, fmt.Sprintf("key %q has %d jobs due, and %d run of %d", key, due, runs, atOnce))
		}
	}
	if l.must(rows.Err()); len(waiting) > 0 && (l.limits.Running == 0 || running < l.limits.Running) {
		l.Error(waiting)
	}
}
