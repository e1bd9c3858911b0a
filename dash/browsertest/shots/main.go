// Shots takes the pictures of docs/dashboard.md: it plays a scene on SQLite and looks at each page in Chromium.
//
//	go run ./dash/browsertest/shots docs
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/dash/browsertest"
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

// A shot is a picture of a page.
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
		if err := s.FillLogs(ctx, logs); err != nil {
			return err
		}
		server := httptest.NewServer(dash.New(dash.Config{Store: busy{store}, Logs: logs, Title: "shop", Version: "1.4.2"}))
		defer server.Close()
		defer server.CloseClientConnections()
		running, failed := "/jobs/"+s.Import.String(), "/jobs/"+s.Failed.String()
		tree := browsertest.Until(`document.querySelectorAll(".task").length > 8`)
		ask := browsertest.Do(`document.querySelector('.everyone button[value="retry"]').click()`)
		for _, p := range []shot{
			{"dashboard-overview", "/", 1280, 1000, "light", nil},
			{"dashboard-jobs", "/jobs", 1280, 860, "light", nil},
			{"dashboard-job", running, 1280, 900, "light", []browsertest.Action{tree}},
			{"dashboard-job-dark", running, 1280, 900, "dark", []browsertest.Action{tree}},
			{"dashboard-failed", failed, 1280, 900, "light", nil},
			{"dashboard-act", "/jobs?state=discarded", 1280, 640, "light", []browsertest.Action{ask, browsertest.Until(`document.querySelector("#ask").open`)}},
			{"dashboard-queues", "/queues", 1280, 420, "light", nil},
			{"dashboard-workers", "/workers", 1280, 300, "light", nil},
			{"dashboard-crons", "/crons", 1280, 340, "dark", nil},
			{"dashboard-logs", "/logs", 1280, 900, "light", nil},
			{"dashboard-phone", "/jobs", 360, 740, "dark", nil},
			{"dashboard-phone-job", running, 360, 740, "light", []browsertest.Action{tree}},
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
		browsertest.Look(p.width, p.height, p.colours, true), chromedp.Navigate(url + p.path), browsertest.Until(`document.querySelector("#live.is-live")`),
	}
	actions = append(actions, p.before...)
	if err := chromedp.Do(tab, append(actions, chromedp.Sleep(300*time.Millisecond))...); err != nil {
		return err
	}
	drawn, err := chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		result, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
		return result.Data, err
	})
	if err != nil {
		return err
	}
	small, err := shrink(drawn)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, p.name+".png"), small, 0o644)
}
