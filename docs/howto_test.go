package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

// A profile is the page of the first recipe.
type profile struct {
	Name   string
	Orders []string
	Unread int
}

// A shopDB stands for a database; each query takes 100 ms.
type shopDB struct{ broken, slow bool }

func (db *shopDB) user(ctx context.Context, _ int) (string, error) {
	return "Ada", meanwhile.Sleep(ctx, 100*time.Millisecond)
}

func (db *shopDB) orders(ctx context.Context, _ int) ([]string, error) {
	if db.broken {
		return nil, errors.New("the connection was reset")
	}
	return []string{"a book"}, meanwhile.Sleep(ctx, 100*time.Millisecond)
}

func (db *shopDB) unread(ctx context.Context, _ int) (int, error) {
	took := 100 * time.Millisecond
	if db.slow {
		took = time.Hour
	}
	if err := meanwhile.Sleep(ctx, took); err != nil {
		return 0, err
	}
	return 2, nil
}

// fetchProfile makes three queries concurrently, and returns when all of them have ended.
func fetchProfile(ctx context.Context, db *shopDB, id int) (p profile, err error) {
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.Name, err = db.user(ctx, id)
			return err
		}, meanwhile.Name("user"))
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.Orders, err = db.orders(ctx, id)
			return err
		}, meanwhile.Name("orders"))
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			p.Unread, err = db.unread(ctx, id)
			return err
		}, meanwhile.Name("unread"))
		return nil
	}, meanwhile.Name("profile"), meanwhile.Timeout(time.Second))
	return p, err
}

// fetchUnread returns how many messages are unread, or 0 when that is not known within 300 ms: the page is served without it.
func fetchUnread(ctx context.Context, db *shopDB, id int) (unread int) {
	err := meanwhile.Run(ctx, func(ctx context.Context) (err error) {
		unread, err = db.unread(ctx, id)
		return err
	}, meanwhile.Name("unread"), meanwhile.Timeout(300*time.Millisecond))
	if err != nil {
		slog.WarnContext(ctx, "unread messages left out", "error", err)
	}
	return unread
}

func TestHowtoOptionalQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := fetchUnread(t.Context(), &shopDB{}, 7); got != 2 {
			t.Errorf("got %d, want 2", got)
		}
		start := time.Now()
		if got, took := fetchUnread(t.Context(), &shopDB{slow: true}, 7), time.Since(start); got != 0 || took != 300*time.Millisecond {
			t.Errorf("got %d after %v, want 0 after 300ms", got, took)
		}
	})
}

func TestHowtoQueriesRunConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p, err := fetchProfile(t.Context(), &shopDB{}, 7)
		if err != nil || p.Name != "Ada" || len(p.Orders) != 1 || p.Unread != 2 {
			t.Errorf("got %+v, %v", p, err)
		}
		if got, want := time.Since(start), 100*time.Millisecond; got != want {
			t.Errorf("it took %v, want %v", got, want)
		}
		_, err = fetchProfile(t.Context(), &shopDB{broken: true}, 7)
		if got, want := fmt.Sprint(err), "task profile/orders: the connection was reset"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// An Invoice is the args of a job.
type Invoice struct {
	Month string `json:"month"`
}

var Bill = job.Define[Invoice]("invoices.send", job.UniqueArgs())

// crons returns the crons of the program: invoices go out at 06:00 on the first day of each month, for the month before.
func crons() []job.Cron {
	return []job.Cron{{Name: "invoices", Spec: "0 6 1 * *", Job: func(tick time.Time) (*job.Job, error) {
		return Bill.New(Invoice{Month: tick.AddDate(0, -1, 0).Format("2006-01")})
	}}}
}

func TestInvoicesGoOutOnTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 2, 1, 5, 0, 0, 0, time.UTC))) // a bubble begins on 2000-01-01
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
		defer stop()
		store := memory.New()
		defer store.Close()
		var sent []string
		worker := job.NewWorker(store, job.Config{Crons: crons()}, Bill.Handle(func(_ context.Context, i Invoice) error {
			sent = append(sent, i.Month)
			return nil
		}))
		if err := worker.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sent, []string{"2000-01"}) {
			t.Errorf("sent %q, want the invoice of January, once", sent)
		}
	})
}

func TestInvoiceIsOfTheMonthBefore(t *testing.T) {
	j, err := crons()[0].Job(time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(j.Args), `{"month":"2026-12"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// newLogger logs to standard error and to the log server. Close the handler at the end, unless process.Main runs the program.
func newLogger(address string, stderr io.Writer) (*slog.Logger, *logs.Handler, error) {
	server, err := logs.NewHandler(address, &logs.HandlerOptions{
		Level:         slog.LevelDebug,
		SenderOptions: logs.SenderOptions{Service: "shop"},
	})
	if err != nil {
		return nil, nil, err
	}
	local := slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelInfo})
	return slog.New(slog.NewMultiHandler(tasklog.Handler(local), server)), server, nil
}

func TestHowtoLogger(t *testing.T) {
	var stderr bytes.Buffer
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // for the spool
	logger, handler, err := newLogger("tcp://127.0.0.1:1", &stderr)
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		logger.DebugContext(ctx, "not shown here")
		logger.InfoContext(ctx, "order taken", "order", 7)
		return nil
	}, meanwhile.Name("request"))
	if err != nil {
		t.Fatal(err)
	}
	if got := stderr.String(); strings.Contains(got, "not shown") || !strings.Contains(got, `msg="order taken" order=7 task=request`) {
		t.Errorf("standard error has %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // there is no server to wait for
	_ = handler.Close(ctx)
}

// mount adds the dashboard and the API to a mux that the program has already. signedIn returns the user of a request.
func mount(mux *http.ServeMux, store job.Store, signedIn func(*http.Request) (user string, admin bool)) {
	readOnly := func(r *http.Request) bool {
		_, admin := signedIn(r)
		return !admin
	}
	actor := func(r *http.Request) string { // for the audit log
		user, _ := signedIn(r)
		return user
	}
	guard := func(next, without http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, _ := signedIn(r); user == "" {
				without.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	page := http.RedirectHandler("/login", http.StatusSeeOther)
	program := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // it cannot use a login page
		http.Error(w, "not signed in", http.StatusUnauthorized)
	})
	mux.Handle("/admin/jobs/", guard(dash.New(dash.Config{Store: store, Prefix: "/admin/jobs", ReadOnly: readOnly, Actor: actor}), page))
	mux.Handle(api.Prefix+"/", guard(api.New(api.Config{Store: store, ReadOnly: readOnly, Actor: actor}), program))
}

func TestHowtoMount(t *testing.T) {
	store := memory.New()
	defer store.Close()
	mux := http.NewServeMux()
	mount(mux, store, func(r *http.Request) (string, bool) {
		user := r.Header.Get("User")
		return user, user == "root"
	})
	for _, test := range []struct {
		user, method, path, body string
		want                     int
	}{
		{"", "GET", "/admin/jobs/", "", http.StatusSeeOther},
		{"", "GET", "/api/v1/jobs", "", http.StatusUnauthorized},
		{"ada", "GET", "/admin/jobs/", "", http.StatusOK},
		{"ada", "GET", "/api/v1/jobs", "", http.StatusOK},
		{"ada", "POST", "/api/v1/jobs", `{"kind":"a"}`, http.StatusForbidden},
		{"root", "POST", "/api/v1/jobs", `{"kind":"a"}`, http.StatusCreated},
	} {
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		r.Header.Set("User", test.user)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%+v: got %d\n%.200s", test, w.Code, w.Body)
		}
	}
}

// A probe is a part of the manifest.
type probe struct {
	HTTPGet struct {
		Path string
		Port int
	} `yaml:"httpGet"`
}

// TestHowtoManifest reads the manifest of the guide: its probes are served, and the times leave room for each other.
func TestHowtoManifest(t *testing.T) {
	blocks := readBlocks(t, "howto.md")
	i := slices.IndexFunc(blocks, func(b block) bool { return b.kind == "yaml" })
	if i < 0 {
		t.Fatal("the guide has no manifest")
	}
	var manifest struct {
		Spec struct {
			Template struct {
				Spec struct {
					Grace      int `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						LivenessProbe  probe `yaml:"livenessProbe"`
						ReadinessProbe probe `yaml:"readinessProbe"`
						Lifecycle      struct {
							PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(blocks[i].text), &manifest); err != nil {
		t.Fatal(err)
	}
	pod := manifest.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("got %+v", manifest)
	}
	c := pod.Containers[0]
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("the probes are %+v and %+v", c.LivenessProbe, c.ReadinessProbe)
	}
	const grace, atExit = 25, 2 // seconds that the guide gives to Main, and what AtExit needs besides
	if sum := c.Lifecycle.PreStop.Sleep.Seconds + grace + atExit; c.Lifecycle.PreStop.Sleep.Seconds == 0 || sum > pod.Grace {
		t.Errorf("stopping takes up to %d s, of %d", sum, pod.Grace)
	}
}

// report stands for the client of an error tracker, such as Sentry's.
type report func(ctx context.Context, err error, tags map[string]string)

// reporting returns the settings of a worker that reports panics, and jobs that have failed for good.
func reporting(send report) job.Config {
	return job.Config{Observe: func(e job.Event) {
		var crash *meanwhile.PanicError
		if e.Kind == job.JobDiscarded || errors.As(e.Err, &crash) {
			send(context.Background(), e.Err, map[string]string{
				"job": e.Job.ID.String(), "kind": e.Job.Kind, "attempt": fmt.Sprint(e.Job.Attempt),
			})
		}
	}}
}

// reportTasks reports each failed task of a program: give it to process.Main or to Run.
func reportTasks(send report) meanwhile.Option {
	return meanwhile.Observe(func(e meanwhile.Event) {
		if e.Kind == meanwhile.TaskEnded && e.Err != nil && !errors.Is(e.Err, context.Canceled) {
			send(context.Background(), e.Err, map[string]string{"task": e.Path})
		}
	})
}

func TestHowtoReporting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		send := func(_ context.Context, err error, tags map[string]string) {
			mu.Lock()
			defer mu.Unlock()
			text, _, _ := strings.Cut(err.Error(), "\n")
			got = append(got, tags["kind"]+tags["task"]+": "+text)
		}
		store := memory.New()
		defer store.Close()
		for _, month := range []string{"fails", "panics"} {
			if _, err := Bill.Enqueue(t.Context(), store, Invoice{Month: month}, job.MaxAttempts(2)); err != nil {
				t.Fatal(err)
			}
		}
		c := reporting(send)
		c.Logger = slog.New(slog.DiscardHandler)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		err := job.NewWorker(store, c, Bill.Handle(func(_ context.Context, i Invoice) error {
			if i.Month == "panics" {
				panic("no address")
			}
			return errors.New("no connection")
		})).Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
			return errors.New("disk full")
		}, meanwhile.Name("import"), reportTasks(send))
		slices.Sort(got)
		want := []string{"import: disk full", "invoices.send: no connection", "invoices.send: panic: no address", "invoices.send: panic: no address"}
		if !slices.Equal(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
	})
}
