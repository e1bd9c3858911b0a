package live_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// A slowSnapshots counts snapshots that take a second each. The ID in their tree is the number of the snapshot.
type slowSnapshots struct {
	mu    sync.Mutex
	taken uint32
}

func (l *slowSnapshots) trees() []inspect.Node {
	l.mu.Lock()
	l.taken++
	n := l.taken
	l.mu.Unlock()
	time.Sleep(time.Second)
	return []inspect.Node{{ID: n, Name: "a"}}
}

func TestRequestsShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow slowSnapshots
		h := live.HandlerOf(live.Config{CancelToken: secret}, slow.trees)
		start := time.Now()
		var done sync.WaitGroup
		for i := range 50 {
			time.Sleep(10 * time.Millisecond) // the requests come while the snapshot is being taken
			done.Go(func() {
				s, err := read(ask(t, h, local("GET", "/?format=json", "")))
				if err != nil || s.Trees[0].ID != 1 || s.Took != time.Second || !s.Time.Equal(start.Add(10*time.Millisecond)) {
					t.Errorf("request %d: got %+v, %v, want the snapshot that started after 10 ms", i, s, err)
				}
			})
		}
		done.Wait()
		if got := time.Since(start); got != 1010*time.Millisecond {
			t.Errorf("it took %v, want 1.01 s", got)
		}

		time.Sleep(time.Second - time.Nanosecond) // as long as the snapshot took
		for name, r := range map[string]*http.Request{
			"text":   local("GET", "/", ""),
			"detail": local("GET", "/?task=1", ""),
			"cancel": local("POST", "/", "cancel=1&path="),
		} {
			if w := ask(t, h, r); w.Code == http.StatusOK == (name == "cancel") {
				t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
			}
		}
		if s := snapshot(t, h, ""); s.Trees[0].ID != 1 || slow.taken != 1 {
			t.Errorf("in the second after it: got snapshot %d of %d", s.Trees[0].ID, slow.taken)
		}

		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if s := snapshot(t, h, ""); s.Trees[0].ID != 2 || slow.taken != 2 {
			t.Errorf("after a second: got snapshot %d of %d", s.Trees[0].ID, slow.taken)
		}
	})
}

// A request that ends while another one takes a snapshot does not wait for it.
func TestRequestEndsInALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow slowSnapshots
		h := live.HandlerOf(live.Config{}, slow.trees)
		go ask(t, h, local("GET", "/", ""))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		w := ask(t, h, local("GET", "/", "").WithContext(ctx))
		if took := time.Since(start); took != 10*time.Millisecond || w.Code != http.StatusServiceUnavailable {
			t.Errorf("got status %d after %v, want 503 after 10 ms", w.Code, took)
		}
		if s := snapshot(t, h, ""); s.Trees[0].ID != 1 {
			t.Errorf("the snapshot of the others: got %d, want 1", s.Trees[0].ID)
		}
	})
}

// A snapshot that panics ends its own request; a request that waited for it takes a new one.
func TestLookPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow slowSnapshots
		h := live.HandlerOf(live.Config{}, func() []inspect.Node {
			trees := slow.trees()
			if trees[0].ID == 1 {
				panic("broken")
			}
			return trees
		})
		var done sync.WaitGroup
		done.Go(func() {
			defer func() {
				if got := recover(); got != "broken" {
					t.Errorf("got %v, want the panic of the snapshot", got)
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), local("GET", "/", ""))
		})
		synctest.Wait()
		for range 5 {
			done.Go(func() {
				s, err := read(ask(t, h, local("GET", "/?format=json", "")))
				if err != nil || s.Trees[0].ID != 2 {
					t.Errorf("got %+v, %v, want snapshot 2", s, err)
				}
			})
		}
		done.Wait()
	})
}

// A Node keeps its task in memory: a snapshot must not be kept when there are no more requests.
func TestLookIsLetGoOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen weak.Pointer[inspect.Node]
		h := live.HandlerOf(live.Config{}, func() []inspect.Node {
			trees := shop()
			seen = weak.Make(&trees[0])
			return trees
		})
		snapshot(t, h, "")
		runtime.GC()
		if seen.Value() == nil {
			t.Error("the snapshot was dropped immediately")
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		runtime.GC()
		if seen.Value() != nil {
			t.Error("the snapshot was not dropped")
		}
		runtime.KeepAlive(h)
	})
}

// A quick snapshot serves all requests within 100 ms.
func TestQuickLookIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		snapshots := 0
		h := live.HandlerOf(live.Config{}, func() []inspect.Node {
			snapshots++
			return nil
		})
		for i, wait := range []time.Duration{0, 100*time.Millisecond - 1, 1} {
			time.Sleep(wait)
			synctest.Wait()
			snapshot(t, h, "")
			if want := 1 + i/2; snapshots != want {
				t.Errorf("request %d: %d snapshots, want %d", i, snapshots, want)
			}
		}
	})
}
