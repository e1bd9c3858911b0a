package live_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// waitsOfAShop requests the wait profile of a shop that has run for half a minute below a watch: of its four orders one uses
// the database, which the others wait for.
func waitsOfAShop(t *testing.T, ask func(h http.Handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
			database := meanwhile.NewSemaphore(1)
			for range 4 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					if err := database.Acquire(ctx, 1); err != nil {
						return err
					}
					defer database.Release(1)
					return meanwhile.Sleep(ctx, time.Hour)
				}, meanwhile.Name("order"), meanwhile.InBackground())
			}
			if err := meanwhile.Sleep(ctx, 30*time.Second); err != nil {
				return err
			}
			ask(live.Handler(live.Config{}))
			return nil
		}, meanwhile.Name("shop"))
		if err != nil {
			t.Error(err)
		}
	})
}

func TestWaitsAsText(t *testing.T) {
	testenv.NeedExact(t)
	waitsOfAShop(t, func(h http.Handler) {
		w := ask(t, h, local("GET", "/?waits", ""))
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != "text/plain; charset=utf-8" {
			t.Errorf("status %d, type %q", w.Code, got)
		}
		want := regexp.MustCompile(`^the last 30s: \d+ snapshots, which took 0\.0 % of a processor at most

shop/order: 75 % semaphore made at waits_test\.go:\d+, 25 % sleep; 4\.0 tasks on average
  75\.0 %  semaphore made at waits_test\.go:\d+, waits_test\.go:\d+ \(meanwhile\.\(\*Semaphore\)\.Acquire\)
  25\.0 %  sleep, waits_test\.go:\d+ \(meanwhile\.Sleep\)

shop: 100 % sleep; 1\.0 tasks on average
 100\.0 %  sleep, waits_test\.go:\d+ \(meanwhile\.Sleep\)
$`)
		if !want.MatchString(w.Body.String()) {
			t.Errorf("got\n%swant\n%v", w.Body, want)
		}
	})
}

func TestWaitsAsJSON(t *testing.T) {
	testenv.NeedExact(t)
	waitsOfAShop(t, func(h http.Handler) {
		var p inspect.WaitProfile
		w := ask(t, h, local("GET", "/?waits&format=json", ""))
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK {
			t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
		}
		if p.Window < 29*time.Second || p.Snapshots < 100 || len(p.Tasks) != 2 {
			t.Fatalf("got %+v", p)
		}
		order := p.Tasks[0]
		if order.Name != "shop/order" || order.Time != 4*p.Window || len(order.Waits) != 2 || order.Totals["sleep"] != p.Window {
			t.Errorf("got %+v", order)
		}
		if s := order.Waits[0]; s.Share != 0.75 || s.Wait.For != "semaphore" || s.Wait.Line == 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// go tool pprof reads the profile from a URL as the documentation describes.
func TestWaitsForPprof(t *testing.T) {
	testenv.LongTest(t)
	testenv.NeedExact(t)
	pprof := testenv.Pprof(t)
	var recorded *httptest.ResponseRecorder
	waitsOfAShop(t, func(h http.Handler) { recorded = ask(t, h, local("GET", "/?waits&format=pprof", "")) })
	if recorded.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorded.Code, recorded.Body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); !q.Has("waits") || q.Get("format") != "pprof" {
			t.Errorf("pprof asked for %v", r.URL)
		}
		_, _ = w.Write(recorded.Body.Bytes())
	}))
	defer server.Close()
	for flag, wants := range map[string][]string{
		"-top": {"Type: wait", "(*Semaphore).Acquire", "live_test.waitsOfAShop"},
		"-tags": {
			"task: Total", "shop/order", "wait: Total", "semaphore made at waits_test.go:",
		},
	} {
		cmd := exec.CommandContext(t.Context(), pprof, flag, server.URL+"/debug/meanwhile?waits&format=pprof")
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", flag, err)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q is not in\n%s", flag, want, out)
			}
		}
		if strings.Contains(string(out), "runtime.gopark") {
			t.Errorf("%s contains functions of the runtime:\n%s", flag, out)
		}
	}
}

func TestWaitsRefused(t *testing.T) {
	h := live.HandlerOf(live.Config{}, shop)
	for target, want := range map[string]struct {
		status int
		text   string
	}{
		"/?waits":              {http.StatusNotFound, "inspect.Watch"},
		"/?waits&format=xml":   {http.StatusBadRequest, "json, text or pprof"},
		"/?format=pprof":       {http.StatusBadRequest, "json or text"},
		"/?waits&task=1":       {http.StatusBadRequest, "or for a task"},
		"/?waits&format=pprof": {http.StatusNotFound, "inspect.Watch"},
	} {
		if w := ask(t, h, local("GET", target, "")); w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: status %d, %s", target, w.Code, w.Body)
		}
	}
}
