package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A peer is a library on a store.
type peer struct {
	lib   string // its name in the names of benchmarks
	store string // postgres, sqlite or redis
	open  func(ctx context.Context, where string, atOnce int) (queue, error)
}

// A queue is a library on one database, with a worker that runs atOnce jobs at once.
type queue interface {
	// enqueue adds a job that is durable when it returns.
	enqueue(ctx context.Context, a args) error
	// bulk adds n jobs by the fastest bulk call.
	bulk(ctx context.Context, n int, p place) error
	// past adds n finished jobs.
	past(ctx context.Context, n int) error
	// work starts the worker. stop stops it.
	work(ctx context.Context, h handler) (stop func() error, err error)
	// finished waits until the worker has run n jobs, and the database has them as finished.
	finished(ctx context.Context, n int) error
	close()
}

type args struct {
	N  int   `json:"n"`
	At int64 `json:"at"` // when it was enqueued, in nanoseconds

	Text string `json:"text,omitempty"`
}

type handler func(ctx context.Context, a args) error

func nothing(context.Context, args) error { return nil }

// A place is where bulk puts jobs.
type place int

const (
	here      place = iota // in the queue of the worker
	elsewhere              // in a queue that has no worker
	later                  // in the worker's queue, due in a day
)

// peers are the libraries to measure. The program that riversqlite_test.go is built into has others.
var peers = slices.Concat(ours, riverPostgres, asynqRedis)

// each runs a benchmark for each peer.
func each(b *testing.B, f func(b *testing.B, p peer)) { eachOf(b, peers, f) }

func eachOf(b *testing.B, peers []peer, f func(b *testing.B, p peer)) {
	for _, store := range []string{"postgres", "sqlite", "redis"} {
		if !slices.ContainsFunc(peers, func(p peer) bool { return p.store == store }) {
			continue
		}
		b.Run("store="+store, func(b *testing.B) {
			for _, p := range peers {
				if p.store == store {
					b.Run("lib="+p.lib, func(b *testing.B) { f(b, p) })
				}
			}
		})
	}
}

// fresh opens a queue on a database of its own.
func (p peer) fresh(tb testing.TB, atOnce int) (q queue, where string) {
	tb.Helper()
	where = newDatabase(tb, p.store)
	return p.openAt(tb, where, atOnce), where
}

func (p peer) openAt(tb testing.TB, where string, atOnce int) queue {
	tb.Helper()
	q, err := p.open(tb.Context(), where, atOnce)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(q.close)
	return q
}

// size returns full for a real measurement, or few to test that it works.
func size(full, few int) int {
	if os.Getenv("MEANWHILE_BENCH_JOBS") == "full" {
		return full
	}
	return few
}

// run starts a worker for n jobs that are already enqueued, and returns how long it ran them.
func run(ctx context.Context, q queue, n int, h handler) (time.Duration, error) {
	began := time.Now()
	stop, err := q.work(ctx, h)
	if err != nil {
		return 0, err
	}
	err = q.finished(ctx, n)
	took := time.Since(began)
	return took, errors.Join(err, stop())
}

// TestPeers tests what the benchmarks assume of each library: every job is run once with its args, no more jobs run at once than
// requested, and scheduled jobs and jobs in other queues are not run.
func TestPeers(t *testing.T) {
	const n, atOnce = 200, 20
	for _, p := range append(bare, peers...) {
		t.Run(p.store+"/"+p.lib, func(t *testing.T) {
			q, _ := p.fresh(t, atOnce)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i := range n / 2 {
				if err := q.enqueue(ctx, args{N: -1 - i}); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(q.bulk(ctx, n/2, here), q.bulk(ctx, n, elsewhere), q.bulk(ctx, n, later)); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			seen := map[int]int{}
			var running, most atomic.Int64
			_, err := run(ctx, q, n, func(_ context.Context, a args) error {
				if now := running.Add(1); now > most.Load() {
					most.Store(now)
				}
				defer running.Add(-1)
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				seen[a.N]++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n / 2 {
				if seen[i] != 1 || seen[-1-i] != 1 {
					t.Fatalf("jobs %d and %d were run %d and %d times, want once each", i, -1-i, seen[i], seen[-1-i])
				}
			}
			if len(seen) != n {
				t.Errorf("%d jobs were run, want %d", len(seen), n)
			}
			if most.Load() > atOnce {
				t.Errorf("%d jobs ran at once, want at most %d", most.Load(), atOnce)
			}
		})
	}
}

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// in waits until done returns true.
func in(ctx context.Context, done func() (bool, error)) error {
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the jobs: %w", context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

func variable(name, otherwise string) string { return cmp.Or(os.Getenv(name), otherwise) }
