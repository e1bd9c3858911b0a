package dash_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// writes are all requests that change something in a store.
var writes = [][]string{
	{"/jobs/action", "action", "cancel", "all", "1"},
	{"/queues", "action", "pause", "queue", "default"},
	{"/queues", "action", "remove-limits", "queue", "default", "key", "a"},
	{"/workers", "action", "stop", "worker", "w"},
	{"/crons", "action", "pause", "cron", "nightly"},
	{"/undo", "undo", "none"},
	{"/jobs/00000000-0000-0000-0000-000000000001/clone", "args", "{}"},
}

func TestOtherSites(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID
	h := dash.New(dash.Config{Store: s})
	for _, site := range []string{"cross-site", "same-site"} {
		for _, write := range append(writes, []string{"/theme", "theme", "dark"}) {
			has(t, send(t, h, write[0], site, write[1:]...), http.StatusForbidden, "comes from a page of another site")
		}
	}
	// A browser that does not send Sec-Fetch-Site sends Origin.
	r := httptest.NewRequest("POST", "/jobs/action?action=cancel&all=1", nil)
	r.Header.Set("Origin", "https://evil.example")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	has(t, w, http.StatusForbidden, "comes from a page of another site")
	// A GET request changes nothing.
	for _, write := range writes {
		get(t, h, write[0]+"?action="+write[2]+"&all=1&id="+id.String()+"&queue=default&worker=w&cron=nightly")
	}
	checkUntouched(t, s, id)
}

func checkUntouched(t *testing.T, s job.Store, id job.ID) {
	t.Helper()
	if got := find(t, s, id); got.State != job.Queued || got.CancelRequested {
		t.Errorf("the job is %s", got.State)
	}
	queues, err := s.Queues(t.Context())
	if err != nil || len(queues) != 1 || queues[0].Paused {
		t.Errorf("queues %+v: %v", queues, err)
	}
}

func TestReadOnly(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID
	h := dash.New(dash.Config{Store: s, ReadOnly: func(r *http.Request) bool { return r.Header.Get("X-Role") != "full" }})
	for _, path := range append(allPages, "/jobs/"+id.String()) {
		has(t, get(t, h, path), http.StatusOK, "read-only", `not name="action"`, `not type="checkbox" name="id"`, `not class="c-pick"`, `not class="c-actions"`)
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("X-Role", "full")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		has(t, w, http.StatusOK, "not read-only")
		if events := read(t, h, path); strings.Contains(events, `name=\"action\"`) {
			t.Errorf("the stream of %s offers actions", path)
		}
	}
	for _, write := range writes {
		has(t, post(t, h, write[0], write[1:]...), http.StatusForbidden, "You have read-only access.")
	}
	has(t, get(t, h, "/jobs/action?action=cancel&all=1"), http.StatusForbidden, "You have read-only access.")
	has(t, get(t, h, "/workers/action?action=stop&worker=w"), http.StatusForbidden, "You have read-only access.")
	checkUntouched(t, s, id)
}
