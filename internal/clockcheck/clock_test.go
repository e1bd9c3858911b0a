package clockcheck

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockIsTrustedAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		for range 9 {
			time.Sleep(time.Minute)
			if c.Trusted() {
				t.Fatal("trusted immediately")
			}
		}
		time.Sleep(time.Minute)
		if !c.Trusted() {
			t.Error("not trusted after ten minutes")
		}
	})
}

func TestJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": 400 * 24 * time.Hour, "back": -400 * 24 * time.Hour, "by two minutes": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			c := New()
			now := c.last
			pass := func(d, jump time.Duration) bool {
				now.mono += d
				now.wall = now.wall.Add(d + jump)
				return c.update(now)
			}
			if !pass(TrustAfter, 0) {
				t.Fatal("not trusted before the jump")
			}
			if pass(time.Second, jump) || pass(TrustAfter-time.Second, 0) {
				t.Error("trusted after a jump")
			}
			if !pass(time.Second, 0) {
				t.Error("not trusted after it has run for long enough")
			}
			if pass(time.Second, -jump) {
				t.Error("trusted after the jump back")
			}
			for range 100 { // a clock that is corrected gradually
				if pass(time.Minute, 10*time.Second) && now.mono < TrustAfter {
					t.Error("trusted too soon")
				}
			}
			if !pass(time.Minute, 10*time.Second) {
				t.Error("a clock that is corrected gradually is not trusted")
			}
		})
	}
}
