package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/job"
)

func setLimits(t *testing.T, s job.Store, l job.Limits) {
	t.Helper()
	if err := s.SetLimits(t.Context(), job.DefaultQueue, l); err != nil {
		t.Fatal(err)
	}
}

func insertWithKeys(t *testing.T, s job.Store, n int, key func(i int) string) {
	t.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		jobs[i] = newJob(t, job.LimitKey(key(i)))
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

func none(int) string { return "" }

func number(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// TestLimitsOfKeysLockNoQueue: limits of keys do not delay claims of jobs without a key: these do not wait for the lock of the
// queue.
func TestLimitsOfKeysLockNoQueue(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	setLimits(t, s, job.Limits{EachKey: job.KeyLimits{Running: 1}})
	insertWithKeys(t, s, 3, none)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // does nothing after a commit
	if _, err := tx.Exec(t.Context(), "select from meanwhile.queues for update"); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, 10); len(got) != 3 {
		t.Errorf("claimed %d jobs while the queue is locked, want 3", len(got))
	}
}

// TestMostRunning: jobs are not counted while it is known that few enough are running; a change of the limits makes the number
// unknown.
func TestMostRunning(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	const most = "select coalesce(most, -1) from meanwhile.queues"
	setLimits(t, s, job.Limits{Running: 10})
	insertWithKeys(t, s, 20, none)
	for want := 4; want <= 8; want += 4 {
		if got := claim(t, s, 4); len(got) != 4 || number(t, pool, most) != want {
			t.Fatalf("claimed %d jobs, and at most %d are running, want 4 and %d", len(got), number(t, pool, most), want)
		}
	}
	if got := claim(t, s, 4); len(got) != 2 || number(t, pool, most) != 10 {
		t.Fatalf("claimed %d jobs, and at most %d are running, want 2 and 10", len(got), number(t, pool, most))
	}
	setLimits(t, s, job.Limits{Running: 12})
	if got := number(t, pool, most); got != -1 {
		t.Errorf("at most %d are running, want this not to be known", got)
	}
	if got := claim(t, s, 4); len(got) != 2 || number(t, pool, most) != 12 {
		t.Errorf("claimed %d jobs, and at most %d are running, want 2 and 12", len(got), number(t, pool, most))
	}
}

// TestLanesNotedTogether: jobs with limit keys that one call enqueues or settles mark their lanes in one row, if they are many.
func TestLanesNotedTogether(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	setLimits(t, s, job.Limits{EachKey: job.KeyLimits{Running: 1}})
	check := func(what string, touched, noted int) {
		t.Helper()
		got := [2]int{number(t, pool, "select count(*) from meanwhile.touched"), number(t, pool, "select count(*) from meanwhile.noted")}
		if got != [2]int{touched, noted} {
			t.Errorf("%s: %d marks of single jobs, %d of many; want %d and %d", what, got[0], got[1], touched, noted)
		}
	}
	key := func(i int) string { return fmt.Sprint("key ", i) }
	insertWithKeys(t, s, 1, key)
	check("one job", 1, 0)
	insertWithKeys(t, s, 600, key)
	check("600 more", 1, 2)
	jobs := claim(t, s, 1000)
	check("a claim", 0, 0)
	if len(jobs) != 600 {
		t.Fatalf("claimed %d jobs, want 600", len(jobs))
	}
	for _, j := range jobs {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle: %d lost, %v", len(lost), err)
	}
	check("settled", 0, 1)
	if got := claim(t, s, 1000); len(got) != 1 {
		t.Errorf("claimed %d jobs, want the one that waited for its key", len(got))
	}
}

// TestStartsWithoutKeys: the rate of a queue applies to jobs without keys, and the claim returns when the next may start.
func TestStartsWithoutKeys(t *testing.T) {
	s := open(t, database(t, server()))
	setLimits(t, s, job.Limits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 2}})
	insertWithKeys(t, s, 5, none)
	for _, want := range []int{2, 0} {
		done, err := s.Claim(t.Context(), job.Claim{
			Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 5}}, Limit: 5, Lease: time.Minute,
		})
		if err != nil || len(done.Jobs) != want || done.Next < 55*time.Minute || done.Next > time.Hour {
			t.Errorf("claimed %d jobs, the next in %v, %v; want %d, and the next in an hour", len(done.Jobs), done.Next, err, want)
		}
	}
}

// TestLockedJobOfKey: a claim does not wait for a job that a transaction has locked. After a rollback, a process that has skipped the job claims it.
func TestLockedJobOfKey(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	insertWithKeys(t, s, 2, func(i int) string { return fmt.Sprint("key ", i) })
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // does nothing after a commit
	if _, err := tx.Exec(t.Context(), "delete from meanwhile.queued where limit_key = 'key 1'"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if got := claim(t, s, 10); len(got) != want {
			t.Fatalf("claimed %d jobs while one is locked, want %d", len(got), want)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, 10); len(got) != 1 {
		t.Errorf("claimed %d jobs after the rollback, want 1", len(got))
	}
}

// TestServerThatIsBehind: a process does not use its lane cache on a server that has not received its last claims, such as a lagging standby.
func TestServerThatIsBehind(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	insertWithKeys(t, s, 20, func(i int) string { return fmt.Sprint("key ", i%5) })
	claim(t, s, 5)
	last := number(t, pool, "select changed from meanwhile.queues")
	if got := claim(t, s, 20); len(got) != 15 {
		t.Fatalf("claimed %d jobs, want 15", len(got))
	}
	execSQL(t, pool, fmt.Sprintf(`do $$ begin
		set local session_replication_role = replica;
		insert into meanwhile.queued (id, run_at, created, priority, attempt, spared, died, max_attempts, queue, kind, args, options, limit_key)
			select id, run_at, created, priority, attempt - 1, spared, died, max_attempts, queue, kind, args, options, limit_key
			from (select * from meanwhile.running order by started desc limit 15) r;
		delete from meanwhile.running where id in (select id from meanwhile.queued);
		delete from meanwhile.changes where n > %d;
		update meanwhile.queues set changed = %d;
	end $$`, last, last))
	if got := claim(t, s, 20); len(got) != 15 {
		t.Errorf("claimed %d jobs of a server that is behind, want 15", len(got))
	}
}

// TestChangesAreFew: the log of changes keeps only the last ones.
func TestChangesAreFew(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	round := func() {
		t.Helper()
		insertWithKeys(t, s, 100, func(i int) string { return fmt.Sprint("key ", i%50) })
		for len(claim(t, s, 1)) > 0 {
		}
	}
	round()
	execSQL(t, pool, `insert into meanwhile.changes (queue, n, tag, keys) select 'default', n, 0, '{}' from generate_series((select changed from meanwhile.queues) + 1, 990) n`)
	execSQL(t, pool, "update meanwhile.queues set changed = 990")
	round()
	if n, last := number(t, pool, "select count(*) from meanwhile.changes"), number(t, pool, "select max(n) from meanwhile.changes"); n < 900 || n > 1010 || last < 1090 {
		t.Errorf("there are %d changes after %d", n, last)
	}
}

// TestTurns: processes share the turns of keys.
func TestTurns(t *testing.T) {
	url := database(t, server())
	lanelaw.CheckTurns(t, open(t, url), open(t, url))
}

// TestTurnsAreNotForgotten: each key gets its turn even if a process has to drop its cache.
func TestTurnsAreNotForgotten(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	lanelaw.CheckForgotten(t, s, func() { execSQL(t, pool, "delete from meanwhile.changes") })
}
