package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestLanesRead: what a claim reads of lanes is what their jobs say, however many they have, compared with reading all of them.
func TestLanesRead(t *testing.T) {
	url := database(t, server())
	open(t, url)
	pool := connect(t, url)
	at := time.Now().UTC().Truncate(time.Millisecond)
	const lanes = 300
	keys, jobs := make([]string, lanes), make([]int, lanes)
	due, next := map[string]int{}, map[string]time.Time{}
	for i := range keys {
		keys[i], jobs[i] = fmt.Sprint("key ", i), rand.IntN(9)
		first := map[int]time.Time{} // by priority
		for n := range jobs[i] {
			priority, runAt := 1+rand.IntN(3), at.Add(time.Duration(rand.IntN(7)-4+i%3)*time.Minute)
			execSQL(t, pool, fmt.Sprintf(
				`insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args, options) values
				('00000000-0000-7000-8000-%06d%06d', 'q', '%s', %d, 1, 'k', '', '{"limit_key":["%s"]}')`, i, n, runAt.Format(time.RFC3339Nano), priority, keys[i],
			))
			if !runAt.After(at) {
				due[keys[i]] = max(due[keys[i]], priority)
			} else if f, ok := first[priority]; !ok || runAt.Before(f) {
				first[priority] = runAt
			}
		}
		for priority, f := range first { // only those matter that would come before what is due
			if n := next[keys[i]]; priority > due[keys[i]] && (n.IsZero() || f.Before(n)) {
				next[keys[i]] = f
			}
		}
	}
	rows, err := pool.Query(t.Context(), "select key, due, next, queued from meanwhile.lanes_read('q', $1, $2, true, 2000)", pgx.QueryExecModeDescribeExec, keys, at)
	if err != nil {
		t.Fatal(err)
	}
	var key string
	var gotDue int
	var gotNext *time.Time
	var queued bool
	read, several := 0, 0
	_, err = pgx.ForEachRow(rows, []any{&key, &gotDue, &gotNext, &queued}, func() error {
		var lane int
		if _, err := fmt.Sscanf(key, "key %d", &lane); err != nil {
			return err
		}
		read++
		if jobs[lane] > 4 {
			several++
		}
		if gotDue != due[key] || queued != (jobs[lane] > 0) {
			t.Errorf("%s with %d jobs: priority %d is due, queued %t; want %d, %t", key, jobs[lane], gotDue, queued, due[key], jobs[lane] > 0)
		}
		// A lane may be looked at sooner than needed, but neither late nor without reason.
		switch want := next[key]; {
		case gotNext != nil && !gotNext.After(at):
			t.Errorf("%s: next is %v, which is not after %v", key, gotNext, at)
		case want.IsZero() && gotDue > 0, gotNext == nil && want.IsZero():
		case gotNext == nil, gotNext.After(want), gotDue == 0 && !gotNext.Equal(want):
			t.Errorf("%s with %d jobs, priority %d due: next is %v, want %v", key, jobs[lane], gotDue, gotNext, want)
		}
		return nil
	})
	if err != nil || read != lanes || several < lanes/5 {
		t.Fatalf("%d lanes were read, %d of them with more than four jobs: %v", read, several, err)
	}
}
