package access

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestSessionsExpire(t *testing.T) {
	hash()
	synctest.Test(t, func(t *testing.T) {
		_, h, _ := newGuard(t, nil)
		check := func(what string, cookie func(*http.Request), want int) {
			t.Helper()
			if w := ask(h, "GET", "/", cookie); w.Code != want {
				t.Errorf("%s: got %d, want %d", what, w.Code, want)
			}
		}
		ada := cookieOf(t, signIn(h, "ada", password, ""))
		for range 3 {
			time.Sleep(idleTime - time.Second)
			check("used again and again", ada, 200)
		}
		time.Sleep(idleTime)
		check("idle", ada, 401)

		ada = cookieOf(t, signIn(h, "ada", password, ""))
		for begun := time.Now(); time.Since(begun) < longestTime-idleTime/2; time.Sleep(idleTime / 2) {
			check("used for days", ada, 200)
		}
		time.Sleep(idleTime / 2)
		check("too old", ada, 401)
	})
}

func TestAStreamIsUse(t *testing.T) {
	hash()
	synctest.Test(t, func(t *testing.T) {
		g, _, _ := newGuard(t, nil)
		h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/events" {
				<-r.Context().Done()
			}
		}))
		begun := time.Now()
		ada := cookieOf(t, signIn(h, "ada", password, ""))
		go func() {
			ask(h, "GET", "/events", ada)
			if took := time.Since(begun); took != longestTime {
				t.Errorf("the stream ended after %v, want %v", took, longestTime)
			}
		}()
		time.Sleep(2 * idleTime)
		if w := ask(h, "GET", "/", ada); w.Code != 200 {
			t.Errorf("while a stream runs: got %d, want 200", w.Code)
		}
		time.Sleep(longestTime)
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		enter := func(value string) bool {
			_, _, leave, ok := s.enter(t.Context(), value, time.Now())
			if ok {
				leave()
			}
			return ok
		}
		first := s.create(Identity{Name: "first"}, time.Now())
		time.Sleep(time.Second)
		second := s.create(Identity{Name: "second"}, time.Now())
		time.Sleep(time.Second)
		if !enter(first) {
			t.Error("the first session has ended")
		}
		for range mostSessions - 1 {
			time.Sleep(time.Second)
			s.create(Identity{Name: "more"}, time.Now())
		}
		if len(s.all) != mostSessions || enter(second) || !enter(first) {
			t.Errorf("%d sessions; want %d, without the one that was not used for the longest", len(s.all), mostSessions)
		}
		time.Sleep(idleTime)
		s.create(Identity{Name: "last"}, time.Now())
		if len(s.all) != 1 {
			t.Errorf("%d sessions are there, want the last only", len(s.all))
		}
	})
}

// TestOpenPageKeepsItsSession: of too many sessions, one whose page is open does not end while another is not in use, however long ago its request began.
func TestOpenPageKeepsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		open := s.create(Identity{Name: "open"}, time.Now())
		_, page, leave, _ := s.enter(t.Context(), open, time.Now())
		defer leave()
		for range 2 * mostSessions {
			time.Sleep(time.Second)
			s.create(Identity{Name: "more"}, time.Now())
		}
		if page.Err() != nil || len(s.all) != mostSessions {
			t.Errorf("%d sessions, and the page has ended: %v", len(s.all), page.Err())
		}
	})
}
