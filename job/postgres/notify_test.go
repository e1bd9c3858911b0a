package postgres

import (
	"fmt"
	"slices"
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

// TestNoticesInTransactions: of the transactions of a short time, one notifies the workers of a queue, and no queue is remembered longer.
func TestNoticesInTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Store
		n := &s.notices
		n.setUp()
		n.sending = true // so that no timer sends the notices that come later
		for i := range 100 {
			queue := fmt.Sprint("queue", i)
			if here := s.noticesInTx([]string{queue}); len(here) != 1 {
				t.Fatalf("the first transaction notifies %q, want %s", here, queue)
			}
			if here := s.noticesInTx([]string{queue, "other"}); !slices.Equal(here, []string{"other"}) {
				t.Fatalf("the second transaction notifies %q, want other alone", here)
			}
			if !n.pending[queue] {
				t.Fatalf("no notice of %s is sent later", queue)
			}
			time.Sleep(txNoticeEvery)
		}
		if len(n.inTxs) > 2 {
			t.Errorf("%d queues are remembered, want 2", len(n.inTxs))
		}
	})
}
