package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// ErrNoBrowser is returned if Chromium is not found.
var ErrNoBrowser = errors.New("no Chromium: install it (apt-get install chromium), or give its path in MEANWHILE_CHROMIUM")

// Start starts a browser, in whose context chromedp.NewContext opens tabs. It ends with ctx, or when stop is called.
func Start(ctx context.Context) (browser context.Context, stop func(), err error) {
	path := os.Getenv("MEANWHILE_CHROMIUM")
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, nil, ErrNoBrowser
	}
	temporary, err := os.MkdirTemp("", "chromium-*") // for files that Chromium leaves behind
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	allocated, release := chromedp.NewExecAllocator(ctx, chromedp.Env("TMPDIR="+temporary),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-background-networking", true),
		chromedp.WSURLReadTimeout(time.Minute))
	browser, quit := chromedp.NewContext(allocated)
	stop = func() {
		quit()
		release()
		_ = os.RemoveAll(temporary)
	}
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return browser, stop, nil
}

// shifts collects layout shifts that the reader has not caused, as browsers measure them, and adds up their scores (CLS). Tasks in the box of a live
// tree may move: other tasks start and end, and the lines of a task depend on what it waits for.
const shifts = `window.shifts = []; window.allShifts = []; window.cls = 0; new PerformanceObserver(list => {
	const tell = r => [r.x, r.y, r.width, r.height].map(Math.round).join(" ")
	const inTree = s => (s.node?.closest ? s.node : s.node?.parentElement)?.closest("#tree > *, .tree, .task") // the last two: it may be taken out by now
	for (const e of list.getEntries()) if (!e.hadRecentInput) for (const s of (cls += e.value, e.sources)) {
		const moved = (s.node?.outerHTML ?? s.node?.parentElement?.outerHTML ?? "?").slice(0, 150) + " from " + tell(s.previousRect) + " to " + tell(s.currentRect)
		window.allShifts.push(moved)
		if (!inTree(s)) window.shifts.push(moved)
	}
}).observe({type: "layout-shift", buffered: true})`

// An Action is a step in a tab that returns nothing.
type Action = chromedp.Action[chromedp.Void]

// Look sets the appearance of a tab: the size of its window, the system's color scheme, and whether scripts run.
func Look(width, height int64, colours string, scripts bool) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		added, features := page.AddScriptToEvaluateOnNewDocumentParams{Source: shifts}, []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}
		if _, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, added); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts}); err != nil {
			return err
		}
		_, err := resize(width, height)(ctx, t)
		return err
	})
}

// resize changes the window size of a tab.
func resize(width, height int64) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500}
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, size)
		return err
	})
}

// lessMotion sets the tab's preference for reduced motion, as a system setting does.
func lessMotion() Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		features := []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
}

// Shot returns a PNG of a tab: its window, or the whole page, up to a height of 3,000 pixels.
func Shot(tab context.Context, whole bool) ([]byte, error) {
	return chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
		if whole {
			size, err := chromedp.Evaluate[[2]float64]("[innerWidth, Math.min(document.documentElement.scrollHeight, 3000)]")(ctx, t)
			if err != nil {
				return nil, err
			}
			p.CaptureBeyondViewport, p.Clip = &whole, &page.Viewport{Width: size[0], Height: size[1], Scale: 1}
		}
		result, err := cdp.Call(ctx, t, page.CaptureScreenshot, p)
		return result.Data, err
	})
}

// Do evaluates statements in the page.
func Do(script string) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](script+"; true")(ctx, t)
		return err
	})
}

// Until waits until an expression is true in the page: at most 45 seconds, which is enough for a busy machine.
func Until(expression string) Action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
		defer cancel()
		for {
			ok, err := chromedp.Evaluate[bool]("!!("+expression+")")(ctx, t)
			if err == nil && ok {
				return nil
			}
			select {
			case <-time.After(50 * time.Millisecond): // during a navigation the page returns an error
			case <-ctx.Done():
				seen, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				defer cancel()
				text, _ := chromedp.Evaluate[string](`location.href + ": " + (document.querySelector("dialog[open]") ?? document.body).innerText.slice(0, 600)`)(seen, t)
				return fmt.Errorf("wait for %s: %w; the page is %s", expression, errors.Join(ctx.Err(), err), text)
			}
		}
	})
}
