package live_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// twoLeaks takes two seconds to return two leaks.
func twoLeaks() ([]inspect.Leak, error) {
	time.Sleep(2 * time.Second)
	return []inspect.Leak{
		{Task: "shop/order", Count: 3, Wait: inspect.Wait{For: "send", Func: "main.order", File: "/shop/order.go", Line: 12}},
		{Count: 1, Wait: inspect.Wait{For: "mutex", Func: "main.main", File: "/shop/main.go", Line: 7, Call: "sync.(*Mutex).Lock"}},
	}, nil
}

func TestLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := live.HandlerOfLeaks(twoLeaks)
		w := ask(t, h, local("GET", "/?leaks", ""))
		_, list, _ := strings.Cut(w.Body.String(), "\n")
		want := "3 goroutines of shop/order: send, order.go:12\n1 goroutine of no task: mutex, main.go:7 (sync.(*Mutex).Lock)\n"
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != "text/plain; charset=utf-8" || list != want {
			t.Errorf("status %d, type %q, got\n%swant\n%s", w.Code, got, w.Body, want)
		}
		if want := "4 goroutines can never go on, as the garbage collector found at 00:00:00 in 2s\n"; !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("got\n%swant\n%s", w.Body, want)
		}
		var found live.Leaks
		w = ask(t, h, local("GET", "/?leaks&format=json", ""))
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || w.Code != http.StatusOK {
			t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
		}
		if len(found.Leaks) != 2 || found.Leaks[0].Task != "shop/order" || found.Leaks[0].Count != 3 || found.Leaks[1].Wait.For != "mutex" || found.Took != 2*time.Second {
			t.Errorf("got %+v", found)
		}
	})
}

// However many requests there are, the garbage collections for them take at most a hundredth of the time, and happen at most
// once in ten seconds.
func TestLeaksAreLookedForSeldom(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: 10 * time.Second, time.Second: 100 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var calls []time.Time
			h := live.HandlerOfLeaks(func() ([]inspect.Leak, error) {
				calls = append(calls, time.Now())
				time.Sleep(took)
				return nil, nil
			})
			for range 250 {
				if w := ask(t, h, local("GET", "/?leaks&format=json", "")); !strings.Contains(w.Body.String(), `"leaks":[]`) {
					t.Fatalf("got %s", w.Body)
				}
				time.Sleep(time.Second)
			}
			for i := 1; i < len(calls); i++ {
				if d := calls[i].Sub(calls[i-1]); d < want {
					t.Errorf("leaks were searched for again after %v, want at least %v", d, want)
				}
			}
			if len(calls) < 3 {
				t.Errorf("leaks were searched for %d times, want at least 3", len(calls))
			}
		})
	}
}

func TestLeaksRefused(t *testing.T) {
	h := live.HandlerOfLeaks(func() ([]inspect.Leak, error) { return nil, inspect.ErrNoLeakProfile })
	for target, want := range map[string]struct {
		status int
		text   string
	}{
		"/?leaks":              {http.StatusNotImplemented, "build it with Go 1.27 or newer"},
		"/?leaks&format=json":  {http.StatusNotImplemented, "build it with Go 1.27 or newer"},
		"/?leaks&waits":        {http.StatusBadRequest, "ask for leaks"},
		"/?leaks&task=1":       {http.StatusBadRequest, "ask for leaks"},
		"/?leaks&format=pprof": {http.StatusBadRequest, "format must be json or text"},
	} {
		if w := ask(t, h, local("GET", target, "")); w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: got %d %q, want %d %q", target, w.Code, w.Body, want.status, want.text)
		}
	}
}
