package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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

// TestLimitsOfKeysLockNoQueue: limits of keys hold back no claim of jobs without one: it does not wait for the lock of the queue.
func TestLimitsOfKeysLockNoQueue(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	setLimits(t, s, job.Limits{EachKey: job.KeyLimits{Running: 1}})
	insertWithKeys(t, s, 3, none)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // which ends it in any case
	if _, err := tx.Exec(t.Context(), "select from meanwhile.queues for update"); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, 10); len(got) != 3 {
		t.Errorf("claimed %d jobs while the queue is locked, want 3", len(got))
	}
}

// TestMostRunning: as long as it is known that few enough run, none are counted; a program that does not know of that makes it unknown, and so does a change
// of the limits.
func TestMostRunning(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	const most = "select coalesce(most, -1) from meanwhile.queues"
	setLimits(t, s, job.Limits{Running: 10})
	insertWithKeys(t, s, 20, none)
	for want := 4; want <= 8; want += 4 {
		if got := claim(t, s, 4); len(got) != 4 || number(t, pool, most) != want {
			t.Fatalf("claimed %d jobs, and %d run at most, want 4 and %d", len(got), number(t, pool, most), want)
		}
	}
	if got := claim(t, s, 4); len(got) != 2 || number(t, pool, most) != 10 {
		t.Fatalf("claimed %d jobs, and %d run at most, want 2 and 10", len(got), number(t, pool, most))
	}
	for _, forget := range []func(){
		func() { execSQL(t, pool, "update meanwhile.queues set turn = turn") }, // as programs of before do
		func() { setLimits(t, s, job.Limits{Running: 12}) },
	} {
		forget()
		if got := number(t, pool, most); got != -1 {
			t.Errorf("%d run at most, want it not to be known", got)
		}
		execSQL(t, pool, "update meanwhile.queues set claims = claims + 1, most = 10, turn = turn")
	}
	execSQL(t, pool, "update meanwhile.queues set claims = claims + 1, most = null, turn = turn")
	if got := claim(t, s, 4); len(got) != 2 || number(t, pool, most) != 12 {
		t.Errorf("claimed %d jobs, and %d run at most, want 2 and 12", len(got), number(t, pool, most))
	}
}

// TestLanesNotedTogether: many jobs with limit keys that are enqueued by one call, or settled by one, mark their lanes in one row.
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

// TestInsertAgainWithLimits is TestInsertAgainWhileItRuns for queues with limits, without keys and with them.
func TestInsertAgainWithLimits(t *testing.T) {
	for _, key := range []string{"", "key"} {
		s := open(t, database(t, server()))
		setLimits(t, s, job.Limits{Running: 100})
		first, second := newJob(t, job.LimitKey(key)), newJob(t, job.LimitKey(key))
		insert := func(j *job.Job) {
			t.Helper()
			if _, err := s.Insert(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
		insert(first)
		claim(t, s, 10)
		insert(first)
		insert(second)
		if got := claim(t, s, 10); len(got) != 1 || got[0].ID != second.ID {
			t.Errorf("key %q: claimed %d jobs, want the second alone", key, len(got))
		}
	}
}

// TestStartsWithoutKeys: the rate of a queue holds for jobs without keys, and says when the next may start.
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
