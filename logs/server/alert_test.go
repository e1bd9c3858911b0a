package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A page is a writer that keeps lines.
type page struct {
	mu    sync.Mutex
	lines []string
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(b) {
		p.lines = append(p.lines, string(bytes.TrimSpace(line)))
	}
	return len(b), nil
}

// of returns the lines of a service, without their times, and forgets all.
func (p *page) of(service string) (some []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if _, rest, _ := strings.Cut(line, "|"); strings.HasPrefix(rest, service+"|") {
			some = append(some, rest)
		}
	}
	p.lines = nil
	return some
}

// An alarm is a server with alerts, in a bubble of synctest.
type alarm struct {
	t      *testing.T
	s      *server.Server
	ctx    context.Context
	page   *page
	events []string
}

// alarmed runs a server with an alert, and calls f, which can check what the alert has notified of.
func alarmed(t *testing.T, a server.Alert, f func(*alarm)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &alarm{t: t, page: &page{}}
		begun := time.Now()
		a.Notify = func(e server.AlertEvent) {
			r.events = append(r.events, time.Since(begun).String()+" "+e.String())
		}
		to := []server.Destination{{Writer: r.page}}
		serve(t, server.Config{Routes: []server.Route{{To: to}}, Alerts: []server.Alert{a}, Interval: time.Hour}, func(ctx context.Context, s *server.Server) {
			r.s, r.ctx = s, ctx
			f(r)
		})
	})
}

// log sends n records of a level.
func (r *alarm) log(n int, level slog.Level) {
	r.t.Helper()
	f := r.s.Batcher("test")
	for range n {
		f.Add(&logs.View{Service: []byte("api"), Message: []byte("hello"), Level: level, Time: 1})
	}
	if err := f.Sync(r.ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *alarm) sleep(d time.Duration) {
	_ = meanwhile.Sleep(r.ctx, d)
	synctest.Wait()
}

// notified checks what the alert has notified of since the last call.
func (r *alarm) notified(want ...string) {
	r.t.Helper()
	synctest.Wait()
	equal(r.t, "notified", r.events, want...)
	r.events = nil
}

func match(t *testing.T, text string) filter.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAlert(t *testing.T) {
	a := server.Alert{Name: "errors", Filter: match(t, "level>=error"), Count: 20, Window: 5 * time.Minute}
	alarmed(t, a, func(r *alarm) {
		r.sleep(500 * time.Millisecond)
		r.log(100, slog.LevelWarn) // which the filter does not match
		r.log(10, slog.LevelError)
		r.sleep(4 * time.Minute)
		r.log(9, slog.LevelError)
		r.sleep(time.Second)
		r.notified()
		r.log(1, slog.LevelError)
		r.sleep(time.Second)
		r.notified("4m2s alert errors fires: 20 records of level>=error within 5m0s")
		if got := r.s.Stats().Alerts[0]; !got.Firing || got.Records != 20 || got.Fired != 1 || got.Since == nil {
			t.Errorf("got %+v", got)
		}
		equal(t, "records", r.page.of("meanwhile"), `meanwhile|warn|alert errors fires: 20 records of level>=error within 5m0s alert=errors state=firing records=20`)
		r.sleep(time.Minute) // the first ten are too old
		r.log(3, slog.LevelError)
		r.sleep(5 * time.Minute)
		r.notified("5m5s alert errors is over after 1m4s: 23 records of level>=error")
		equal(t, "records", r.page.of("meanwhile"), `meanwhile|info|alert errors is over after 1m4s: 23 records of level>=error alert=errors state=over records=23`)
		r.sleep(time.Hour)
		if got := r.s.Stats().Alerts[0]; got.Firing || got.Records != 0 || got.Fired != 1 || got.Since != nil {
			t.Errorf("got %+v", got)
		}
	})
}

// An alert that has fired does not fire again within its quiet time, and then does if it is still due.
func TestAlertIsQuiet(t *testing.T) {
	a := server.Alert{Name: "slow", Count: 1, Window: time.Minute, Quiet: time.Hour}
	alarmed(t, a, func(r *alarm) {
		r.sleep(500 * time.Millisecond)
		for range 30 {
			r.log(1, slog.LevelInfo)
			r.sleep(3 * time.Minute)
		}
		r.notified(
			"1s alert slow fires: 1 record within 1m0s", "1m1s alert slow is over after 1m1s: 1 record",
			"1h0m1s alert slow fires: 1 record within 1m0s", "1h1m1s alert slow is over after 1m1s: 1 record",
		)
	})
}

// While an alert fires it is reported once, and the records that arrive until it is over are counted.
func TestAlertFiresOnce(t *testing.T) {
	alarmed(t, server.Alert{Name: "all", Count: 2, Window: time.Minute}, func(r *alarm) {
		for range 100 {
			r.log(2, slog.LevelInfo)
			r.sleep(50 * time.Second)
		}
		r.notified("1s alert all fires: 2 records within 1m0s")
		r.sleep(2 * time.Minute)
		r.notified("1h23m31s alert all is over after 1h23m31s: 200 records")
		if got := r.page.of("meanwhile"); len(got) != 2 {
			t.Errorf("reports count as records: %q", got)
		}
	})
}

// An alert does not count the records that a limit leaves out.
func TestAlertCountsWhatIsAccepted(t *testing.T) {
	a := server.Alert{Name: "all", Count: 100, Window: time.Minute}
	alarmed(t, a, func(r *alarm) {
		to := []server.Route{{To: []server.Destination{{Writer: r.page}}}}
		if err := r.s.SetRoutes(to, []server.Limit{{Rate: 1, Burst: 7}}, nil, []server.Alert{a}); err != nil {
			t.Fatal(err)
		}
		r.log(50, slog.LevelInfo)
		if got := r.s.Stats().Alerts[0].Records; got != 7 {
			t.Errorf("%d records are counted, want 7", got)
		}
	})
}

// An alert continues when the settings are reloaded, unless it has changed.
func TestAlertsAreReadAgain(t *testing.T) {
	a := server.Alert{Name: "all", Filter: match(t, "hello"), Count: 100, Window: time.Minute}
	alarmed(t, a, func(r *alarm) {
		counted := func(what string, want int64) {
			t.Helper()
			to := []server.Route{{To: []server.Destination{{Writer: r.page}}}}
			if err := r.s.SetRoutes(to, nil, nil, []server.Alert{{Name: "other", Count: 1, Window: time.Hour}, a}); err != nil {
				t.Fatal(err)
			}
			r.log(1, slog.LevelInfo)
			if got := r.s.Stats().Alerts[1].Records; got != want {
				t.Errorf("%s: %d records are counted, want %d", what, got, want)
			}
		}
		r.log(1, slog.LevelInfo)
		counted("as before", 2)
		a.Quiet = time.Hour
		counted("another quiet time", 3)
		a.Window = 2 * time.Minute
		counted("another window", 1)
		a.Count = 99
		counted("another count", 1)
		a.Filter = match(t, "message=hello")
		counted("another filter", 1)
	})
}

// Whichever input brings a record, it is counted once.
func TestAlertCountsAllInputs(t *testing.T) {
	byAllInputs(t, nil, func(ctx context.Context, s *server.Server, store storage.Store, all map[string]in) {
		a := server.Alert{Name: "pays", Filter: match(t, "service=pay"), Count: 1000, Window: time.Hour}
		if err := s.SetRoutes(nil, nil, nil, []server.Alert{a}); err != nil {
			t.Fatal(err)
		}
		for what, in := range all {
			in.bring(t, "pay", what)
			awaitRecord(t, ctx, store, "pay", what)
		}
		until(t, ctx, "all records are counted", func() bool { return s.Stats().Alerts[0].Records >= int64(len(all)) })
		if got := s.Stats().Alerts[0].Records; got != int64(len(all)) {
			t.Errorf("%d records are counted, want %d", got, len(all))
		}
	})
}

// A failing store accepts every other batch.
type failingStore struct {
	knowing
	calls int
}

func (f *failingStore) Append(context.Context, ...*logs.Batch) error {
	if f.calls++; f.calls%2 == 1 {
		return errors.New("full")
	}
	return nil
}

// A batch that is sent again, since it was not acknowledged, counts once, with a redaction and without one.
func TestAlertCountsABatchOnce(t *testing.T) {
	for _, redact := range [][]server.Redaction{nil, {{Attrs: []string{"password"}}}} {
		a := server.Alert{Name: "all", Filter: match(t, "hello"), Count: 1000, Window: time.Hour}
		conf := server.Config{Store: &failingStore{}, Redact: redact, Alerts: []server.Alert{a}}
		serve(t, conf, func(ctx context.Context, s *server.Server) {
			b := &logs.Batch{Service: "api", Client: logs.Client{1}, First: 1, Last: 2}
			b.Add(&logs.View{Message: []byte("hello"), Time: 1})
			b.Add(&logs.View{Message: []byte("bye"), Time: 1})
			acceptor := s.Acceptor()
			if first, second := acceptor.Append(ctx, b), acceptor.Append(ctx, b); first == nil || second != nil {
				t.Errorf("got %v and %v", first, second)
			}
			if got := s.Stats().Alerts[0].Records; got != 1 {
				t.Errorf("%d records are counted, want 1", got)
			}
		})
	}
}

func TestAlertCheck(t *testing.T) {
	good := server.Alert{Name: "a", Count: 1, Window: time.Second, Quiet: time.Hour}
	with := func(change func(*server.Alert)) []server.Alert {
		a := good
		change(&a)
		return []server.Alert{a}
	}
	for want, alerts := range map[string][]server.Alert{
		`it has no name`: with(func(a *server.Alert) { a.Name = "" }),
		`or a control`:   with(func(a *server.Alert) { a.Name = "a\nb" }),
		`has 101 bytes`:  with(func(a *server.Alert) { a.Name = strings.Repeat("a", 101) }),
		`alert "a": count 0: give a number of records`:   with(func(a *server.Alert) { a.Count = 0 }),
		`alert "a": window 0s: give a time from 1s`:      with(func(a *server.Alert) { a.Window = 0 }),
		`window 25h0m0s: give a time from 1s to 24h0m0s`: with(func(a *server.Alert) { a.Window = 25 * time.Hour }),
		`quiet -1ns: give a time up to 720h0m0s`:         with(func(a *server.Alert) { a.Quiet = -1 }),
		`alert "a": another one has this name`:           {good, good},
		`101 alerts: give at most 100`:                   slices.Repeat([]server.Alert{good}, 101),
	} {
		_, err := server.New(server.Config{Routes: toFile("x"), Alerts: alerts})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}
