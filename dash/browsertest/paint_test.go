package browsertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// BenchmarkFirstPaint measures the time from the start of a navigation until the browser has painted the first text of a page: the median and the
// maximum of all pages, each of which is loaded once in each round. It also measures the maximum layout shift (CLS) after two seconds of live
// updates. The browser and the server share the machine.
func BenchmarkFirstPaint(b *testing.B) {
	ctx := b.Context()
	browser, stop, err := Start(ctx)
	if err != nil {
		b.Skip(err)
	}
	defer stop()
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		logs, err := segment.Open(ctx, b.TempDir(), segment.Config{Sync: segment.OS})
		if err != nil {
			return err
		}
		defer logs.Close()
		return Play(ctx, openSQLite(b), func(scene Scene) error {
			if err := scene.FillLogs(ctx, logs); err != nil {
				return err
			}
			return measurePaint(b, browser, scene, dash.New(dash.Config{Store: scene.Store, Logs: logs, Title: "shop"}))
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

func measurePaint(b *testing.B, browser context.Context, scene Scene, h http.Handler) error {
	server := httptest.NewServer(h)
	defer server.Close()
	defer server.CloseClientConnections()
	tab, leave := chromedp.NewContext(browser)
	defer leave()
	if err := chromedp.Do(tab, desk()); err != nil {
		return err
	}
	var took []float64
	var cls float64
	for b.Loop() {
		for _, path := range (&stage{Scene: scene}).paths() {
			ms, err := firstPaint(tab, server.URL+path)
			if err != nil {
				return err
			}
			took = append(took, ms)
			moved, err := chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) (float64, error) {
				for _, step := range []Action{Until(`document.querySelector("#live.is-live")`), chromedp.Sleep(2 * time.Second)} {
					if _, err := step(ctx, t); err != nil {
						return 0, err
					}
				}
				return chromedp.Evaluate[float64]("cls")(ctx, t)
			})
			if err != nil {
				return err
			}
			if cls = max(cls, moved); moved > 0 {
				b.Logf("%s has a CLS of %.4f", path, moved)
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)-1], "worst-ms")
	b.ReportMetric(cls, "worst-cls")
	b.ReportMetric(0, "ns/op")
	return nil
}

func firstPaint(tab context.Context, url string) (ms float64, err error) {
	const painted = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime`
	if err := chromedp.Do(tab, chromedp.Navigate(url), Until(painted)); err != nil {
		return 0, err
	}
	return chromedp.Run(tab, chromedp.Evaluate[float64](painted))
}
