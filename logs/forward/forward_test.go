package forward_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/retry"
	"pgregory.net/rapid"
)

var errAway = errors.New("nobody answers")

// fwd runs a forwarder for a time, and fails if it does not end by then.
func fwd(t testing.TB, f *forward.Forwarder, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := f.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Run: %v", err)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestForwarderGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		store.Add("api", 2500)
		store.Add("db", 3)
		cursor := filepath.Join(t.TempDir(), "state", "cursor")
		for range 3 { // a new forwarder finds its place in the file
			f := &forward.Forwarder{Store: store, Output: out, Cursor: cursor, Logger: quiet()}
			fwd(t, f, time.Minute)
			store.Add("api", 10)
		}
		if got, want := out.numbers("api"), upTo(1, 2520); !slices.Equal(got, want) {
			t.Errorf("got %d records of api: %v", len(got), got[max(0, len(got)-30):])
		}
		if got, want := out.numbers("db"), upTo(1, 3); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if out.calls != 3+1+2 {
			t.Errorf("%d calls, want 6", out.calls)
		}
	})
}

func TestForwarderFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		f := &forward.Forwarder{Store: store, Output: out, Logger: quiet()}
		ctx, cancel := context.WithCancel(t.Context())
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			run := meanwhile.Go(ctx, f.Run)
			for range 100 {
				store.Add("api", 1)
				store.Add("db", 1)
				if err := meanwhile.Sleep(ctx, time.Second); err != nil {
					return err
				}
				if got := len(out.numbers("api")); got != len(store.Records("api")) {
					t.Fatalf("%d of %d records within a second", got, len(store.Records("api")))
				}
			}
			run.Cancel(errors.New("enough"))
			return nil
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
	})
}

func TestForwarderBeginsAtTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{send: func(context.Context, []logs.Record) error { return errAway }}
		store.Add("api", 10)
		cursor := filepath.Join(t.TempDir(), "cursor")
		newest := func() *forward.Forwarder {
			return &forward.Forwarder{Store: store, Output: out, Cursor: cursor, Newest: true, Logger: quiet()}
		}
		fwd(t, newest(), time.Minute)
		store.Add("api", 5)
		store.Add("new", 2)
		fwd(t, newest(), time.Minute) // sends nothing; the place that was found first counts
		out.send = nil
		fwd(t, newest(), time.Minute)
		if got, want := out.numbers("api"), upTo(11, 15); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got, want := out.numbers("new"), upTo(1, 2); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestForwarderWhileTheOutputIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(2 * time.Hour)
		out := &sink{send: func(context.Context, []logs.Record) error {
			if time.Now().Before(back) {
				return errAway
			}
			return nil
		}}
		store := logtest.NewShelf()
		store.Add("api", 5000)
		f := &forward.Forwarder{Store: store, Output: out, Logger: quiet()}
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Minute)
		defer cancel()
		_ = meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, f.Run)
			_ = meanwhile.Sleep(ctx, 110*time.Minute)
			s := f.Stats()[0]
			if s.Lag != 5000 || s.Behind < 100*time.Minute || !errors.Is(s.Err, errAway) || s.Sent != 0 {
				t.Errorf("while it is unreachable: %+v", s)
			}
			_ = meanwhile.Sleep(ctx, 20*time.Minute)
			s = f.Stats()[0]
			if s.Lag != 0 || s.Behind != 0 || s.Err != nil || s.Sent != 5000 {
				t.Errorf("when it is back: %+v", s)
			}
			return nil
		})
		if got, want := out.numbers("api"), upTo(1, 5000); !slices.Equal(got, want) {
			t.Errorf("got %d records", len(got))
		}
		if most := int(2*time.Hour/(15*time.Second)) + 20; out.calls > most {
			t.Errorf("%d calls in two hours, at most %d expected", out.calls, most)
		}
	})
}

func TestForwarderObeysRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		begin := time.Now()
		store, out := logtest.NewShelf(), &sink{}
		out.send = func(context.Context, []logs.Record) error {
			if times = append(times, time.Since(begin)); len(times) <= 2 {
				return fmt.Errorf("send: %w", retry.After(errAway, 90*time.Second))
			}
			return nil
		}
		store.Add("api", 1)
		fwd(t, &forward.Forwarder{Store: store, Output: out, Logger: quiet()}, time.Hour)
		if want := []time.Duration{0, 90 * time.Second, 180 * time.Second}; !slices.Equal(times, want) {
			t.Errorf("calls after %v, want %v", times, want)
		}
	})
}

func TestForwarderEndsACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		hung := 0
		out.send = func(ctx context.Context, _ []logs.Record) error {
			if hung++; hung > 2 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		store.Add("api", 7)
		fwd(t, &forward.Forwarder{Store: store, Output: out, Logger: quiet()}, time.Hour)
		if got, want := out.numbers("api"), upTo(1, 7); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestForwarderLeavesOutWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		out.send = func(_ context.Context, records []logs.Record) error {
			if slices.ContainsFunc(records, func(r logs.Record) bool { return r.Number%100 == 7 }) {
				return fmt.Errorf("a bad record: %w", forward.ErrRefused)
			}
			return nil
		}
		store.Add("api", 1000)
		var logged strings.Builder
		f := &forward.Forwarder{Store: store, Output: out, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		fwd(t, f, time.Minute)
		want := slices.DeleteFunc(upTo(1, 1000), func(n uint64) bool { return n%100 == 7 })
		if got := out.numbers("api"); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if s := f.Stats()[0]; s.Sent != 990 || s.Refused != 10 || s.Lag != 0 || s.Retries != 0 {
			t.Errorf("%+v", s)
		}
		if !strings.Contains(logged.String(), "refuses records") {
			t.Errorf("logged: %s", logged.String())
		}

		out.send = func(_ context.Context, records []logs.Record) error {
			out.take(records[2:])
			return &forward.RefusedError{Count: 2, Why: "too old"}
		}
		store.Add("api", 10)
		fwd(t, f, time.Minute) // from the beginning, as it has no cursor: two calls
		if s := f.Stats()[0]; s.Sent != 1006 || s.Refused != 4 || s.Lag != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestForwarderCountsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		cursor := filepath.Join(t.TempDir(), "cursor")
		f := &forward.Forwarder{Store: store, Output: out, Cursor: cursor, Logger: quiet()}
		store.Add("api", 10)
		store.Add("db", 10)
		fwd(t, f, time.Minute)
		store.Add("api", 20)
		store.Add("db", 20)
		store.Prune("api", 15)
		store.Prune("db", 30) // all of them
		fwd(t, f, time.Minute)
		if got, want := out.numbers("api"), append(upTo(1, 10), upTo(16, 30)...); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for _, s := range f.Stats() {
			if want := map[string]int64{"api": 5, "db": 20}[s.Service]; s.Gone != want || s.Lag != 0 || s.Next != 31 {
				t.Errorf("%+v, want %d gone", s, want)
			}
		}
	})
}

// A halfRead is a store whose newest records are damaged.
type halfRead struct{ *logtest.Shelf }

func (h halfRead) Services(ctx context.Context) ([]storage.ServiceStats, error) {
	all, err := h.Shelf.Services(ctx)
	all[0].Last += 5
	return all, err
}

func TestForwarderGoesOnBehindDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		store.Add("api", 3)
		f := &forward.Forwarder{Store: halfRead{store}, Output: out, Logger: quiet()}
		fwd(t, f, time.Minute)
		if s := f.Stats()[0]; s.Gone != 5 || s.Next != 9 || s.Lag != 0 || out.calls != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// A store that lost its end, or is another one, has lower numbers than the cursor.
func TestForwarderAheadOfItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, cursor := &sink{}, filepath.Join(t.TempDir(), "cursor")
		for _, n := range []int{100, 3} {
			store := logtest.NewShelf()
			store.Add("api", n)
			fwd(t, &forward.Forwarder{Store: store, Output: out, Cursor: cursor, Logger: quiet()}, time.Minute)
		}
		if got, want := out.numbers("api"), append(upTo(1, 100), upTo(1, 3)...); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A service whose records are not accepted does not hold up others.
func TestForwarderIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		out.send = func(ctx context.Context, records []logs.Record) error {
			if records[0].Service == "bad" {
				return errAway
			}
			return meanwhile.Sleep(ctx, 10*time.Millisecond)
		}
		store.Add("bad", 10)
		for i := range 20 {
			store.Add(fmt.Sprint("good ", i), 10)
		}
		f := &forward.Forwarder{Store: store, Output: out, AtOnce: 1, Records: 1, Logger: quiet()}
		fwd(t, f, time.Minute)
		for _, s := range f.Stats() {
			if good := s.Service != "bad"; good != (s.Lag == 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A deepShelf is a store of many services with a megabyte each, which makes records when they are read.
type deepShelf struct {
	*logtest.Shelf
	open, most atomic.Int32
}

func (d *deepShelf) Read(ctx context.Context, service string, from uint64) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		d.most.Store(max(d.most.Load(), d.open.Add(1)))
		defer d.open.Add(-1)
		for r, err := range d.Shelf.Read(ctx, service, from) {
			r.Message = strings.Repeat("x", 100<<10)
			if !yield(r, err) {
				return
			}
		}
	}
}

// However many services wait for an output that is unreachable, only those that are being sent have records in memory and files open.
func TestForwarderWaitsWithoutMemory(t *testing.T) {
	testenv.LongTest(t)
	const services, atOnce = 60, 4
	synctest.Test(t, func(t *testing.T) {
		store := &deepShelf{Shelf: logtest.NewShelf()}
		for i := range services {
			store.Add(fmt.Sprint("service ", i), 20)
		}
		var unreachable atomic.Bool
		var took atomic.Int64
		unreachable.Store(true)
		out := &quietSink{send: func(ctx context.Context, records []logs.Record) error {
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil || unreachable.Load() {
				return errors.Join(err, errAway)
			}
			took.Add(int64(len(records)))
			return nil
		}}
		f := &forward.Forwarder{Store: store, Output: out, AtOnce: atOnce, Logger: quiet()}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, f.Run)
			if err := meanwhile.Sleep(ctx, 30*time.Second); err != nil {
				return err
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > 40<<20 {
				t.Errorf("%d MiB are in use while nothing is taken", m.HeapAlloc>>20)
			}
			unreachable.Store(false)
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if most := store.most.Load(); most > atOnce {
			t.Errorf("%d services are read at once", most)
		}
		if n := took.Load(); n != services*20 {
			t.Errorf("%d records were taken", n)
		}
	})
}

// A quietSink is an output that keeps nothing.
type quietSink struct {
	send func(ctx context.Context, records []logs.Record) error
}

func (q *quietSink) Send(ctx context.Context, records []logs.Record) error {
	return q.send(ctx, records)
}
func (q *quietSink) Close() error { return nil }

// A search for refused records finishes even if most calls of the output fail.
func TestForwarderFindsWhatIsRefusedWhileCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		calls := 0
		out.send = func(_ context.Context, records []logs.Record) error {
			if calls++; calls%4 != 0 {
				return errAway
			}
			if slices.ContainsFunc(records, func(r logs.Record) bool { return r.Number == 3 || r.Number == 700 }) {
				return forward.ErrRefused
			}
			return nil
		}
		store.Add("api", 1000)
		f := &forward.Forwarder{Store: store, Output: out, Logger: quiet()}
		fwd(t, f, time.Hour)
		want := slices.DeleteFunc(upTo(1, 1000), func(n uint64) bool { return n == 3 || n == 700 })
		if got := out.numbers("api"); !slices.Equal(got, want) {
			t.Errorf("got %d records, want %d", len(got), len(want))
		}
		if s := f.Stats()[0]; s.Sent != 998 || s.Refused != 2 || s.Lag != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// An output that does not accept the records of one service is not reported as back because it accepts those of another.
func TestForwarderTellsOnceOfOneService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		back := time.Now().Add(30 * time.Minute)
		out.send = func(_ context.Context, records []logs.Record) error {
			if records[0].Service == "bad" && time.Now().Before(back) {
				return errAway
			}
			return nil
		}
		store.Add("bad", 10)
		var logged strings.Builder
		f := &forward.Forwarder{Store: store, Output: out, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_ = meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, f.Run)
			meanwhile.Every(ctx, time.Second, func(context.Context) error {
				store.Add("good", 1)
				return nil
			})
			return meanwhile.Sleep(ctx, 50*time.Minute)
		})
		if n := strings.Count(logged.String(), "takes records again"); n != 1 {
			t.Errorf("it is logged %d times that the output is back:\n%.2000s", n, logged.String())
		}
		if n := strings.Count(logged.String(), "does not take records"); n < 10 || n > 31 {
			t.Errorf("it is logged %d times that it is unreachable", n)
		}
		if got, want := len(out.numbers("bad")), 10; got != want {
			t.Errorf("%d records of %d came", got, want)
		}
	})
}

func TestForwarderAndABrokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, out := logtest.NewShelf(), &sink{}
		store.Add("api", 10)
		store.Break(errors.New("input/output error"))
		f := &forward.Forwarder{Store: store, Output: out, Logger: quiet()}
		fwd(t, f, time.Minute)
		store.Break(nil)
		fwd(t, f, time.Minute)
		if got, want := out.numbers("api"), upTo(1, 10); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		store.Break(fmt.Errorf("look: %w", logs.ErrClosed))
		if err := f.Run(t.Context()); !errors.Is(err, logs.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestForwarderWithADamagedCursor(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2,"next":{}}`, `{"version":1}`, `{"version":1,"next":{"api":-1}}`} {
		cursor := filepath.Join(t.TempDir(), "cursor")
		if err := os.WriteFile(cursor, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &forward.Forwarder{Store: logtest.NewShelf(), Output: &sink{}, Cursor: cursor, Logger: quiet()}
		if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), cursor) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever fails and whenever the process is killed, each record arrives, in order, and a record that is sent again has the same
// identity.
func TestForwarderLaw(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var problem error
		synctest.Test(t, func(t *testing.T) {
			cursor := filepath.Join(folder, "cursor")
			_ = os.Remove(cursor)
			store, out := logtest.NewShelf(), &sink{}
			out.send = func(_ context.Context, records []logs.Record) error {
				switch fate := rapid.IntRange(0, 9).Draw(rt, "fate"); fate {
				case 0, 1:
					return errAway
				case 2: // the answer is lost
					out.take(records)
					return errAway
				case 3:
					out.take(records[:len(records)/2])
					return errAway
				}
				if records[0].Number <= 20 && 20 <= records[len(records)-1].Number {
					return forward.ErrRefused
				}
				return nil
			}
			for range rapid.IntRange(1, 4).Draw(rt, "lives") {
				for _, service := range []string{"api", "db"} {
					store.Add(service, rapid.IntRange(0, 30).Draw(rt, "records"))
				}
				before, err := os.ReadFile(cursor)
				f := &forward.Forwarder{Store: store, Output: out, Cursor: cursor, AtOnce: 1, Records: rapid.IntRange(1, 20).Draw(rt, "batch"), Logger: quiet()}
				fwd(t, f, time.Duration(rapid.IntRange(1, 2000).Draw(rt, "ms"))*time.Millisecond)
				if err == nil && rapid.Bool().Draw(rt, "killed") { // before it saved anything
					if err := os.WriteFile(cursor, before, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			out.send = func(_ context.Context, records []logs.Record) error {
				if len(records) == 1 && records[0].Number == 20 {
					return forward.ErrRefused
				}
				return nil
			}
			fwd(t, &forward.Forwarder{Store: store, Output: out, Cursor: cursor, Logger: quiet()}, time.Minute)
			for _, service := range []string{"api", "db"} {
				if err := inOrder(out.took[service], len(store.Records(service))); err != nil {
					problem = fmt.Errorf("%s: %w", service, err)
				}
			}
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// inOrder reports records that are missing, came too early, or came again with another identity. The 20th may be missing.
func inOrder(took []logs.Record, n int) error {
	seen := map[uint64]string{}
	next := uint64(1)
	for _, r := range took {
		id, again := seen[r.Number]
		switch {
		case r.Number == 20:
			continue
		case again && id != r.Identity():
			return fmt.Errorf("%s and %s are one record", id, r.Identity())
		case again:
			continue
		case next == 20:
			next++
		}
		if r.Number != next {
			return fmt.Errorf("record %d came when %d was due", r.Number, next)
		}
		seen[r.Number] = r.Identity()
		next++
	}
	if want := slices.DeleteFunc(upTo(1, uint64(n)), func(n uint64) bool { return n == 20 }); len(seen) != len(want) {
		return fmt.Errorf("%d of %d records came", len(seen), len(want))
	}
	return nil
}

func TestIdentity(t *testing.T) {
	r := logs.Record{Service: "api", Number: 17, Time: time.Unix(1, 2), Message: "hello"}
	if got, want := r.Identity(), "api-17-"; !strings.HasPrefix(got, want) || len(got) != len(want)+16 {
		t.Errorf("got %q", got)
	}
	seen := map[string]bool{}
	for _, other := range []logs.Record{
		r,
		{Service: "api", Number: 18, Time: time.Unix(1, 2), Message: "hello"},
		{Service: "api", Number: 17, Time: time.Unix(1, 3), Message: "hello"},
		{Service: "api", Number: 17, Time: time.Unix(1, 2), Message: "hallo"},
		{Service: "db", Number: 17, Time: time.Unix(1, 2), Message: "hello"},
	} {
		if seen[other.Identity()] {
			t.Errorf("%s is that of two records", other.Identity())
		}
		seen[other.Identity()] = true
	}
}
