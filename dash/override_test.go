package dash_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestLimitsOfKeys: the page of a queue lists the keys with their own limits; admins can remove those of a key, and undo that.
func TestLimitsOfKeys(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 1)
	set := func(key string, l job.KeyLimits) {
		t.Helper()
		if err := s.SetKeyLimits(t.Context(), job.DefaultQueue, key, l); err != nil {
			t.Fatal(err)
		}
	}
	own := job.KeyLimits{Running: 9, Starts: job.Rate{N: 60, Per: time.Minute}, Weight: 3}
	set("<tenant> 7", own)
	set("other", job.KeyLimits{Weight: 2})
	const page = "/queue?name=default"
	h := dash.New(dash.Config{Store: s})
	const listed = "9 run at once, 60 per minute start, weight 3"
	has(t, get(t, h, page), http.StatusOK, "Limit keys with limits of their own", "&lt;tenant&gt; 7", listed, "not not shown", `value="remove-limits"`)
	has(t, get(t, dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }}), page), http.StatusOK, listed, `not value="remove-limits"`)

	undo := did(t, h, post(t, h, "/queues", "action", "remove-limits", "queue", job.DefaultQueue, "key", "<tenant> 7"), "The limits of the key are removed.")
	has(t, get(t, h, page), http.StatusOK, "weight 2", "not "+listed, "not not shown")
	entries, err := s.Audited(t.Context(), 0, 1)
	if err != nil || entries[0].Action != "set limits of key" || entries[0].Target != "default <tenant> 7 no limits" || entries[0].Changed != 1 {
		t.Errorf("the audit log has %+v: %v", entries, err)
	}
	did(t, h, post(t, h, "/undo", "undo", undo, "back", page), "The action is undone.")
	has(t, get(t, h, page), http.StatusOK, listed)
	if uses, err := s.Limits(t.Context(), job.DefaultQueue, "<tenant> 7"); err != nil || uses[0].Own != own {
		t.Errorf("the limits are %+v, %v", uses, err)
	}

	undo = did(t, h, post(t, h, "/queues", "action", "remove-limits", "queue", job.DefaultQueue, "key", "other"), "are removed.")
	set("other", job.KeyLimits{Weight: 5}) // by another user
	did(t, h, post(t, h, "/undo", "undo", undo, "back", page), "Nothing is undone")
	for i := range 30 {
		set(fmt.Sprint("k", i), own)
	}
	has(t, get(t, dash.New(dash.Config{Store: s}), page), http.StatusOK, "12 more keys not shown; <code>meanwhile jobs limit default --keys</code>")
}
