package browsertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A stage is a scene that is played, and a browser.
type stage struct {
	Scene
	store   string // name of the store
	logs    storage.Store
	noLogs  storage.Store // without records
	browser context.Context
	h       http.Handler // the dashboard
	url     string       // of the dashboard

	completed, scheduled job.ID // jobs in these states
}

// play runs a test on each store.
func play(t *testing.T, test func(t *testing.T, s *stage)) {
	for name, open := range map[string]func(testing.TB) job.Store{"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 8 * time.Minute
			if *shots != "" {
				limit = time.Hour
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			browser, stop, err := Start(ctx)
			if errors.Is(err, ErrNoBrowser) {
				testenv.Missing(t, "%v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			defer stop()
			store, folder := open(t), t.TempDir()
			err = meanwhile.Run(ctx, func(ctx context.Context) error {
				logs, err := segment.Open(ctx, folder, segment.Config{Sync: segment.OS})
				if err != nil {
					return err
				}
				defer logs.Close()
				noLogs, err := segment.Open(ctx, t.TempDir(), segment.Config{Sync: segment.OS})
				if err != nil {
					return err
				}
				defer noLogs.Close()
				return Play(ctx, store, func(scene Scene) error {
					if err := scene.FillLogs(ctx, logs); err != nil {
						return err
					}
					h := dash.New(dash.Config{Store: scene.Store, Logs: logs, Title: "shop"})
					server := httptest.NewServer(h)
					defer server.Close()
					defer server.CloseClientConnections() // ends streams
					// In a subtest, since a test may stop in the middle.
					t.Run("", func(t *testing.T) {
						s := &stage{Scene: scene, store: name, logs: logs, noLogs: noLogs, browser: browser, h: h, url: server.URL}
						s.completed, s.scheduled = s.newest(t, job.Completed), s.newest(t, job.Scheduled)
						test(t, s)
					})
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// newest returns the newest job in a state.
func (s *stage) newest(t *testing.T, state job.State) job.ID {
	t.Helper()
	jobs, err := s.Store.List(t.Context(), job.Filter{States: []job.State{state}, Limit: 1})
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no job is %s: %v", state, err)
	}
	return jobs[0].ID
}

func openSQLite(t testing.TB) job.Store {
	s, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openPostgres(t testing.TB) job.Store {
	server := os.Getenv("MEANWHILE_POSTGRES")
	if server == "" {
		server = "postgres://postgres@127.0.0.1:5432/postgres"
	}
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	run := func(statement string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, statement)
		return err
	}
	name := "meanwhile_test_" + strings.ToLower(rand.Text()[:12])
	if err := run("create database " + name); err != nil {
		testenv.Missing(t, "no PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := run("drop database " + name + " with (force)"); err != nil {
			t.Error(err)
		}
	})
	s, err := postgres.Open(t.Context(), fmt.Sprintf("postgres://%s@%s/%s", config.User, net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A tab is a browser tab with the dashboard. It records errors.
type tab struct {
	*testing.T
	*stage
	ctx context.Context

	wrong bool // the test requests pages that are not there

	mu      sync.Mutex
	trouble []string
}

// tab opens a tab for the duration of a test. The test fails if the console has an error, or if the page sends a request to another host.
func (s *stage) tab(t *testing.T, look Action) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(s.browser)
	b := &tab{T: t, stage: s, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.trouble {
			t.Errorf("in the browser: %s", text)
		}
	})
	if err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.note(fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			b.note(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
		case *log.EventEntryAdded:
			if b.wrong && e.Entry.Source == log.EntrySourceNetwork {
				return
			}
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				b.note(e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "about" && "http://"+u.Host != s.url {
				b.note("a request to " + e.Request.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.run(look)
	return b
}

func (b *tab) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.trouble, text) {
		b.trouble = append(b.trouble, text)
	}
}

// desk is the appearance on a common desktop.
func desk() Action { return Look(1280, 900, "light", true) }

func (b *tab) run(actions ...Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// painted waits until the browser has painted the page: before that, it ignores clicks.
func painted() Action {
	return Until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
}

// open opens a page, and waits until it is live.
func (b *tab) open(path string) {
	b.Helper()
	b.run(chromedp.Navigate(b.url+path), painted(), Until(`document.querySelector("#live.is-live")`))
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// sees waits until the page has a text.
func (b *tab) sees(text string) {
	b.Helper()
	b.run(Until(fmt.Sprintf("document.body.innerText.includes(%q)", text)))
}

// click clicks a button or a link with a text, inside the element that matches a selector.
func (b *tab) click(within, text string) {
	b.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].flatMap(e => [...e.querySelectorAll("button, a, summary")]).find(e => e.innerText.trim() === %q)`, within, text)
	b.run(Until("(e => e && (e.click(), true))(" + find + ")")) // in one expression, since a live update may remove it after it was found
}

func (b *tab) job(id job.ID) *job.Job {
	b.Helper()
	j, err := job.Find(b.ctx, b.Store, id)
	if err != nil {
		b.Fatal(err)
	}
	return j
}
