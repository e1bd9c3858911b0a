// Shots takes the screenshots of docs/dashboard.md: it plays a scene on SQLite and opens each page in Chromium.
//
//	go run ./shots ../../docs
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/dash/browsertest"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/process"
)

func main() {
	process.Main(func(ctx context.Context) error {
		if len(os.Args) != 2 {
			return errors.New("usage: shots FOLDER")
		}
		return shoot(ctx, os.Args[1])
	})
}

// A shot is a screenshot of a page.
type shot struct {
	name, path    string
	width, height int64
	colours       string
	before        []browsertest.Action
}

func shoot(ctx context.Context, folder string) error {
	temporary, err := os.MkdirTemp("", "shots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	store, err := sqlite.Open(ctx, "sqlite:"+filepath.Join(temporary, "jobs.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	browser, stop, err := browsertest.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	logs, err := segment.Open(ctx, filepath.Join(temporary, "logs"), segment.Config{Sync: segment.OS})
	if err != nil {
		return err
	}
	defer logs.Close()
	return browsertest.Play(ctx, store, func(s browsertest.Scene) error {
		if err := store.Audit(ctx, actions(s)...); err != nil {
			return err
		}
		if err := s.FillLogs(ctx, logs); err != nil {
			return err
		}
		server := httptest.NewServer(dash.New(dash.Config{Store: busy{store}, Logs: logs, Title: "shop", Version: "1.4.2"}))
		defer server.Close()
		defer server.CloseClientConnections()
		running, failed := "/jobs/"+s.Import.String(), "/jobs/"+s.Failed.String()
		queued, err := store.List(ctx, job.Filter{Queues: []string{"print"}, States: []job.State{job.Queued}, Limit: 1})
		if err != nil {
			return err
		}
		waiting := "/jobs/" + queued[0].ID.String()
		tree := browsertest.Until(`document.querySelectorAll(".task").length > 8`)
		ask := browsertest.Do(`document.querySelector('.everyone button[value="retry"]').click()`)
		cancel := []browsertest.Action{
			browsertest.Do(`document.querySelector('tbody input[name="id"]').click(); document.querySelector('#actions button[value="cancel"]').click()`),
			browsertest.Until(`document.querySelector("#ask").open`), browsertest.Do(`document.querySelector("#ask button.danger").click()`),
			browsertest.Until(`document.querySelector("#told") && document.querySelector("#live.is-live")`),
		}
		palette := chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
		for _, p := range []shot{
			{"dashboard-overview", "/", 1280, 1000, "light", nil},
			{"dashboard-jobs", "/jobs", 1280, 860, "light", nil},
			{"dashboard-job", running, 1280, 900, "light", []browsertest.Action{tree}},
			{"dashboard-job-dark", running, 1280, 900, "dark", []browsertest.Action{tree}},
			{"dashboard-failed", failed, 1280, 900, "light", nil},
			{"dashboard-action", "/jobs?state=discarded", 1280, 640, "light", []browsertest.Action{ask, browsertest.Until(`document.querySelector("#ask").open`)}},
			{"dashboard-queues", "/queues", 1280, 420, "light", nil},
			{"dashboard-queue", "/queue?name=mail", 1280, 1000, "light", nil},
			{"dashboard-week", "/queue?name=mail&range=7d", 1280, 720, "dark", nil},
			{"dashboard-keys", "/queue?name=print", 1280, 1000, "light", []browsertest.Action{browsertest.Do(`scrollTo(0, 1e6)`)}},
			{"dashboard-waiting", waiting, 1280, 480, "light", nil},
			{"dashboard-audit", "/audit", 1280, 420, "light", nil},
			{"dashboard-clone", failed + "/clone", 1280, 640, "light", nil},
			{"dashboard-palette", "/queues", 1280, 640, "light", []browsertest.Action{palette}},
			{"dashboard-workers", "/workers", 1280, 300, "light", nil},
			{"dashboard-failures", "/failures", 1280, 620, "light", nil},
			{"dashboard-crons", "/crons", 1280, 340, "dark", nil},
			{"dashboard-logs", "/logs", 1280, 900, "light", nil},
			{"dashboard-phone", "/jobs", 360, 740, "dark", nil},
			{"dashboard-phone-job", running, 360, 740, "light", []browsertest.Action{tree}},
			{"dashboard-undo", "/jobs?state=scheduled", 1280, 420, "light", cancel},
		} {
			if err := p.take(browser, server.URL, folder); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	})
}

func (p shot) take(browser context.Context, url, folder string) error {
	tab, leave := chromedp.NewContext(browser)
	defer leave()
	actions := []browsertest.Action{
		browsertest.Look(p.width, p.height, p.colours, true), chromedp.Navigate(url + p.path), browsertest.Until(`!document.querySelector("#live") || document.querySelector("#live.is-live")`),
	}
	actions = append(actions, p.before...)
	if err := chromedp.Do(tab, append(actions, chromedp.Sleep(300*time.Millisecond))...); err != nil {
		return err
	}
	drawn, err := browsertest.Shot(tab, false)
	if err != nil {
		return err
	}
	small, err := shrink(drawn)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, p.name+".png"), small, 0o644)
}

// actions are the entries of the audit log in the screenshots.
func actions(s browsertest.Scene) []job.AuditEntry {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	return []job.AuditEntry{
		{Time: ago(26 * time.Hour), Actor: "ops@web-1", Via: "command", Action: "set limits of queue", Target: "print 4 run at once", Changed: 1},
		{Time: ago(3 * time.Hour), Actor: "ada", Via: "dashboard", Action: "pause queue", Target: "mail", Changed: 1},
		{Time: ago(170 * time.Minute), Actor: "ada", Via: "dashboard", Action: "resume queue", Target: "mail", Changed: 1},
		{Time: ago(2 * time.Hour), Actor: "deploy", Via: "api", Action: "retry", Target: "kind=mail.send state=discarded", Changed: 4120},
		{Time: ago(12 * time.Minute), Actor: "grace", Via: "dashboard", Action: "clone", Target: "id=" + s.Failed.String(), Changed: 1},
	}
}
