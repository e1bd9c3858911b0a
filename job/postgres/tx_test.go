package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// A userTx is a transaction of the caller's, of either library.
type userTx struct {
	job.Tx
	commit, rollback func() error
	exec             func(sql string) error
}

func pgxTx(t *testing.T, s *postgres.Store, url string) userTx {
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return userTx{
		Tx:       s.Tx(tx),
		commit:   func() error { return tx.Commit(t.Context()) },
		rollback: func() error { return tx.Rollback(t.Context()) },
		exec:     func(sql string) error { _, err := tx.Exec(t.Context(), sql); return err },
	}
}

func sqlTx(t *testing.T, s *postgres.Store, url string) userTx {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = db.Close() }) // no transaction is open
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return userTx{
		Tx: s.SQLTx(tx), commit: tx.Commit, rollback: tx.Rollback,
		exec: func(sql string) error { _, err := tx.ExecContext(t.Context(), sql); return err },
	}
}

var userTxs = map[string]func(*testing.T, *postgres.Store, string) userTx{"pgx": pgxTx, "database/sql": sqlTx}

func TestTxCommit(t *testing.T) {
	for name, begin := range userTxs {
		t.Run(name, func(t *testing.T) {
			url := database(t, server())
			s, pool := open(t, url), connect(t, url)
			execSQL(t, pool, "create table effects (n int)")
			insertSome(t, s)
			held := claim(t, s, 1)[0]
			tx := begin(t, s, url)
			if err := tx.exec("insert into effects values (1)"); err != nil {
				t.Fatal(err)
			}
			plain, keyed := newJob(t), newJob(t, job.Unique("k"))
			if ids, err := tx.Insert(t.Context(), plain, keyed); err != nil || len(ids) != 2 || ids[0] != plain.ID || ids[1] != keyed.ID {
				t.Fatalf("Insert = %v, %v", ids, err)
			}
			again := newJob(t, job.Unique("k"))
			if ids, err := tx.Insert(t.Context(), again); err != nil || ids[0] != keyed.ID {
				t.Errorf("Insert with a key that is held = %v, %v, want %v", ids, err, keyed.ID)
			}
			held.State = job.Completed
			stranger := newJob(t)
			stranger.State = job.Completed
			then := newJob(t)
			lost, err := tx.Settle(t.Context(), 1, job.Outcome{Job: held, Then: []*job.Job{then}}, job.Outcome{Job: stranger, Then: []*job.Job{newJob(t)}})
			if err != nil || len(lost) != 1 || lost[0] != stranger.ID {
				t.Errorf("Settle = %v, %v, want that %v is lost", lost, err, stranger.ID)
			}
			wantAll(t, s, []job.ID{held.ID}, 0)
			if jobs := claim(t, s, 10); len(jobs) != 4 {
				t.Errorf("before the commit %d jobs could be claimed, want the 4 from before", len(jobs))
			}
			if err := tx.commit(); err != nil {
				t.Fatal(err)
			}
			wantAll(t, s, []job.ID{held.ID, plain.ID, keyed.ID, then.ID}, 1)
			if jobs := claim(t, s, 10); len(jobs) != 3 {
				t.Errorf("after the commit %d jobs could be claimed, want 3", len(jobs))
			}
		})
	}
}

// TestTxUnits: units are booked, and a key is throttled, only if the transaction commits.
func TestTxUnits(t *testing.T) {
	for name, begin := range userTxs {
		t.Run(name, func(t *testing.T) {
			url := database(t, server())
			s := open(t, url)
			hourly := job.Rate{N: 1, Per: time.Hour}
			if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{Units: hourly, EachKey: job.KeyLimits{Units: hourly}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Insert(t.Context(), newJob(t, job.LimitKey("a")), newJob(t, job.LimitKey("b"))); err != nil {
				t.Fatal(err)
			}
			held := claim(t, s, 2)
			use := func(key string) [3]time.Duration {
				t.Helper()
				uses, err := s.Limits(t.Context(), job.DefaultQueue, key)
				if err != nil {
					t.Fatal(err)
				}
				use := uses[0]
				return [3]time.Duration{use.QueueUnits.Round(time.Hour), use.KeyUnits.Round(time.Hour), use.KeyHeld.Round(time.Hour)}
			}
			for _, end := range []string{"rollback", "commit"} {
				tx, outcomes := begin(t, s, url), []job.Outcome{}
				for i, j := range held {
					j.State = job.Completed
					outcomes = append(outcomes, job.Outcome{Job: j, Units: 5 * (i + 1), Throttle: time.Duration(i) * 3 * time.Hour})
				}
				if lost, err := tx.Settle(t.Context(), 1, outcomes...); err != nil || len(lost) > 0 {
					t.Fatalf("Settle = %v, %v", lost, err)
				}
				finish, a, b := tx.rollback, [3]time.Duration{}, [3]time.Duration{}
				if end == "commit" {
					finish = tx.commit
					a, b = [3]time.Duration{15 * time.Hour, 5 * time.Hour}, [3]time.Duration{15 * time.Hour, 10 * time.Hour, 3 * time.Hour}
				}
				if err := finish(); err != nil {
					t.Fatal(err)
				}
				if gotA, gotB := use(held[0].LimitKey), use(held[1].LimitKey); gotA != a || gotB != b {
					t.Errorf("after the %s: %v and %v, want %v and %v", end, gotA, gotB, a, b)
				}
			}
		})
	}
}

func TestTxRollback(t *testing.T) {
	for name, begin := range userTxs {
		t.Run(name, func(t *testing.T) {
			url := database(t, server())
			s := open(t, url)
			insertSome(t, s)
			held := claim(t, s, 1)[0]
			tx := begin(t, s, url)
			if _, err := tx.Insert(t.Context(), newJob(t, job.Unique("k"))); err != nil {
				t.Fatal(err)
			}
			held.State = job.Completed
			then := newJob(t)
			if _, err := tx.Settle(t.Context(), 1, job.Outcome{Job: held, Then: []*job.Job{then}}); err != nil {
				t.Fatal(err)
			}
			// The row is locked: renewing must neither wait for it nor call it lost.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			renewed, err := s.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Jobs: []job.ID{held.ID}})
			if err != nil || len(renewed.Lost) > 0 {
				t.Errorf("Renew of a job that is being settled = %+v, %v", renewed, err)
			}
			if err := tx.rollback(); err != nil {
				t.Fatal(err)
			}
			if _, err := job.Find(t.Context(), s, then.ID); !errors.Is(err, job.ErrNotFound) {
				t.Errorf("the job that was to follow: %v", err)
			}
			if lost, err := s.Settle(t.Context(), 1, job.Outcome{Job: held, Then: []*job.Job{then}}); err != nil || len(lost) > 0 {
				t.Errorf("Settle after the rollback = %v, %v", lost, err)
			}
			fresh := newJob(t, job.Unique("k"))
			if ids, err := s.Insert(t.Context(), fresh); err != nil || ids[0] != fresh.ID {
				t.Errorf("Insert with the key of a job that was rolled back = %v, %v", ids, err)
			}
		})
	}
}

// TestTxNotice: a waiting worker is notified of a job when the transaction commits.
func TestTxNotice(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	if _, err := s.Wait(t.Context(), job.DefaultQueue); err != nil { // the first call returns at once
		t.Fatal(err)
	}
	for range 3 {
		notified := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			_, err := s.Wait(ctx, job.DefaultQueue)
			notified <- err
		}()
		tx := pgxTx(t, s, url)
		if _, err := tx.Insert(t.Context(), newJob(t)); err != nil {
			t.Fatal(err)
		}
		if err := tx.commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-notified; err != nil {
			t.Errorf("Wait = %v", err)
		}
	}
}

// TestTxWithAUniqueKeyDelaysOnlyKeys: while a transaction of the user's has a unique key, a caller that enqueues a job with that key waits, until
// its ctx ends, and a caller that enqueues jobs without a key does not.
func TestTxWithAUniqueKeyDelaysOnlyKeys(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	tx := pgxTx(t, s, url)
	first := newJob(t, job.Unique("key"))
	if _, err := tx.Insert(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Insert(short, newJob(t, job.Unique("key"))); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 10*time.Second {
		t.Errorf("one that has 50 ms: %v after %v", err, time.Since(begun))
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			ids, err := s.Insert(ctx, newJob(t, job.Unique("key")))
			if err == nil && ids[0] != first.ID {
				t.Errorf("the second job with the key is %v, want that of the transaction, %v", ids[0], first.ID)
			}
			return err
		})
		waits := "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
		for n := 0; n == 0; {
			if err := pool.QueryRow(ctx, waits).Scan(&n); err != nil {
				return err
			}
		}
		inTime, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err := s.Insert(inTime, newJob(t)); err != nil {
			t.Errorf("a job without a key: %v", err)
		}
		return tx.commit()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTxWithAUniqueKeyDelaysOutcomesLittle: an outcome is followed by a job with a unique key that a transaction of the user's has, or a cron
// ticks with such a job. The store returns an error that gives the reason, long before the deadline of the call: the worker has other outcomes to
// write.
func TestTxWithAUniqueKeyDelaysOutcomesLittle(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t, server())
	s := open(t, url)
	insertSome(t, s)
	held := claim(t, s, 1)[0]
	held.State = job.Completed
	tx := pgxTx(t, s, url)
	if _, err := tx.Insert(ctx, newJob(t, job.Unique("key"))); err != nil {
		t.Fatal(err)
	}
	settle := func() error {
		_, err := s.Settle(ctx, 1, job.Outcome{Job: held, Then: []*job.Job{newJob(t, job.Unique("key"))}})
		return err
	}
	tick := func() error {
		_, err := s.Tick(ctx, job.Tick{Cron: "c", Spec: "@hourly", At: time.Now(), Job: newJob(t, job.Unique("key"))})
		return err
	}
	for name, call := range map[string]func() error{"settle": settle, "tick": tick} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "an open transaction has the unique key of a job") {
			t.Errorf("%s: %v, want an error that says who has the key", name, err)
		}
	}
	if err := tx.commit(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(settle(), tick()); err != nil {
		t.Error(err)
	}
}
