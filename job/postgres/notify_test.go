package postgres

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestNoticesWithInsert: an insert notifies workers itself unless a notification was just sent, one is being sent, or the insert before was
// slow.
func TestNoticesWithInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notices
		n.setUp()
		want := func(want bool, what string) {
			t.Helper()
			if got := n.withInsert(); got != want {
				t.Errorf("%s: withInsert() = %v", what, got)
			}
		}
		want(true, "the first insert")
		n.inserted(quickInsert)
		want(false, "one at once after it")
		time.Sleep(noticeEvery)
		want(true, "one later")
		n.inserted(quickInsert + 1)
		time.Sleep(time.Minute)
		want(false, "one after a slow one")
		n.inserted(quickInsert)
		n.sending = true
		want(false, "one while a notice is being sent")
		n.sending = false
		want(true, "one after that")
	})
}
