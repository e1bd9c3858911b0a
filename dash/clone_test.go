package dash_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestClone enqueues a clone with other args. Masked values are not shown, and stay unchanged.
func TestClone(t *testing.T) {
	s := memory.New()
	first := enqueue(t, s, "mail", `{"password":"hunter2","user":1}`, 1,
		job.Queue("mails"), job.Priority(7), job.MaxAttempts(3), job.Timeout(time.Minute), job.LimitKey("ada"), job.Cost(12), job.Unique("u"), job.Meta("tenant", "9"), job.Meta(job.MetaCron, "nightly"))[0]
	h := dash.New(dash.Config{Store: s})
	path := "/jobs/" + first.ID.String() + "/clone"
	has(t, get(t, h, path), http.StatusOK, "&#34;password&#34;: &#34;•••&#34;", "not hunter2", `value="mails"`, `value="7"`, "stay as they are")
	has(t, get(t, h, "/jobs/"+first.ID.String()), http.StatusOK, `/clone">Clone</a>`)

	w := post(t, h, path, "args", `{"password":"•••","user":2}`, "queue", "later", "priority", "2", "due", "2h")
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	has(t, get(t, h, to), http.StatusOK, "The job is enqueued.")
	id, err := job.ParseID(strings.TrimPrefix(strings.Split(to, "?")[0], "/jobs/"))
	if err != nil {
		t.Fatal(err)
	}
	got := find(t, s, id)
	if string(got.Args) != `{"password":"hunter2","user":2}` || got.Kind != "mail" || got.Queue != "later" || got.Priority != 2 || got.MaxAttempts != 3 || got.Timeout != time.Minute ||
		got.LimitKey != "ada" || got.Cost != 12 || got.UniqueKey != "" || got.Meta["tenant"] != "9" || got.Meta[job.MetaCron] != "" || time.Until(got.RunAt) < time.Hour {
		t.Errorf("got %+v", got)
	}
	if entries, _ := s.Audited(t.Context(), 0, 10); len(entries) != 1 || entries[0].Action != "clone" || !strings.Contains(entries[0].Target, id.String()) {
		t.Errorf("audited %+v", entries)
	}
}

// TestCloneOfPlain: a job without any options is cloned without any.
func TestCloneOfPlain(t *testing.T) {
	s := memory.New()
	first := enqueue(t, s, "mail", `{"user":1}`, 1)[0]
	h := dash.New(dash.Config{Store: s})
	w := post(t, h, "/jobs/"+first.ID.String()+"/clone", "args", `{"user":1}`, "queue", "default", "priority", "5")
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	id, err := job.ParseID(strings.TrimPrefix(strings.Split(to, "?")[0], "/jobs/"))
	if err != nil {
		t.Fatal(err)
	}
	got := find(t, s, id)
	if string(got.Args) != string(first.Args) || got.Queue != "default" || got.MaxAttempts != first.MaxAttempts || got.Timeout != 0 || len(got.Meta) != 0 || got.View(time.Now()) != job.Queued {
		t.Errorf("got %+v", got)
	}
}

// TestCloneRefused: errors are shown on the form, with the given values.
func TestCloneRefused(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{"user":1}`, 1)[0].ID.String()
	checks := func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
		if string(args) == "{}" {
			return nil, errors.New("user is missing, token=hunter2")
		}
		return job.New(kind, args, opts...)
	}
	h := dash.New(dash.Config{Store: s, New: checks})
	for _, c := range []struct{ args, queue, priority, due, want string }{
		{`{"user":`, "q", "5", "", "Args: this is not JSON."},
		{`{"token":"•••"}`, "q", "5", "", "there was none before: write one"},
		{`{}`, "q", "5", "", "user is missing, token=•••"},
		{`[1]`, "a b", "5", "", "queue"},
		{`[1]`, "q", "10", "", "priority"},
		{`[1]`, "q", "high", "", "Priority: give a number"},
		{`[1]`, "q", "5", "soon", "is neither a time from now"},
	} {
		has(t, post(t, h, "/jobs/"+id+"/clone", "args", c.args, "queue", c.queue, "priority", c.priority, "due", c.due), http.StatusBadRequest,
			c.want, `role="alert"`, `value="`+c.queue+`"`, "not hunter2", "Clone mail")
	}
	has(t, post(t, h, "/jobs/"+job.NewID().String()+"/clone", "args", "1"), http.StatusNotFound, "There is no such job")
	if jobs, err := s.List(t.Context(), job.Filter{Limit: 10}); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	readOnly := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, readOnly, "/jobs/"+id+"/clone"), http.StatusForbidden, "You have read-only access")
	has(t, get(t, readOnly, "/jobs/"+id), http.StatusOK, "not Clone", "not >change<")
}

// TestCopies: the texts for copying contain no secrets.
func TestCopies(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{"password":"hunter2","to":"o'hara"}`, 1)[0].ID.String()
	has(t, get(t, dash.New(dash.Config{Store: s}), "/jobs/"+id), http.StatusOK, "Copy curl", "not hunter2", "o&#39;\\&#39;&#39;hara", `data-copy="copy-0"`, "action=move&amp;id="+id, "action=schedule&amp;id="+id)
}

// TestCronPage: the page of a cron shows its next tick and the jobs that it enqueued.
func TestCronPage(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "report", `{}`, 1, job.Meta(job.MetaCron, "nightly"))
	other := enqueue(t, s, "report", `{}`, 1, job.Meta(job.MetaCron, "weekly"))[0]
	at := time.Now().Add(-time.Hour)
	last := enqueue(t, memory.New(), "report", `{}`, 1, job.Meta(job.MetaCron, "nightly"))[0]
	if _, err := s.Tick(t.Context(), job.Tick{Cron: "nightly", Spec: "0 3 1 1 * UTC", At: at, Next: at.Add(time.Hour), Job: last}); err != nil {
		t.Fatal(err)
	}
	renew(t, s, "w", func(r *job.Renewal) { r.Info.Crons = []string{"nightly"} })
	h := dash.New(dash.Config{Store: s})
	year := time.Now().UTC().Year() + 1
	w := get(t, h, "/cron?name=nightly")
	has(t, w, http.StatusOK, "<h1>Cron nightly", time.Date(year, 1, 1, 3, 0, 0, 0, time.UTC).Format(time.DateTime), last.ID.String(), "not "+other.ID.String(), "Run now", "meta=cron%3Dnightly")
	if n := strings.Count(w.Body.String(), "data-open"); n != 2 {
		t.Errorf("%d jobs are shown, want 2", n)
	}
	w = post(t, h, "/crons", "action", "pause", "cron", "nightly", "page", "1")
	has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, "The cron is paused.", "<h1>Cron nightly", "none while it is paused")
	has(t, get(t, h, "/crons"), http.StatusOK, `"/cron?name=nightly"`)
	has(t, get(t, h, "/cron?name=none"), http.StatusNotFound, "There is no cron")
}

// TestLastRunOfAResumedCron: the last run is the time of the last job, not the time when the cron was resumed.
func TestLastRunOfAResumedCron(t *testing.T) {
	s, at := memory.New(), time.Now().Add(-7*time.Hour-time.Minute)
	j := enqueue(t, memory.New(), "report", `{}`, 1)[0]
	binary.BigEndian.PutUint64(j.ID[:8], uint64(at.UnixMilli())<<16|7<<12) // created at that time
	if done, err := s.Tick(t.Context(), job.Tick{Cron: "nightly", Spec: "0 3 * * * UTC", At: at, Next: at.Add(24 * time.Hour), Job: j}); !done || err != nil {
		t.Fatal(done, err)
	}
	h := dash.New(dash.Config{Store: s})
	post(t, h, "/crons", "action", "pause", "cron", "nightly")
	post(t, h, "/crons", "action", "resume", "cron", "nightly")
	for _, page := range []string{"/crons", "/cron?name=nightly"} {
		has(t, get(t, h, page), http.StatusOK, j.ID.String()+`"`, ">7 h ago</time>")
	}
}

// TestDueCron: a cron whose next tick has passed is shown as due.
func TestDueCron(t *testing.T) {
	s := memory.New()
	tick(t, s, "nightly", -5*time.Minute)
	tick(t, s, "weekly", time.Hour+time.Minute)
	has(t, get(t, dash.New(dash.Config{Store: s}), "/crons"), http.StatusOK, ">due 5 min ago</time>", ">in 1 h</time>")
}

// TestPalette: the palette links to the pages of queues, kinds and crons.
func TestPalette(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail.send", `{}`, 1, job.Queue("a"))
	tick(t, s, "nightly", time.Hour)
	h := dash.New(dash.Config{Store: s, Prefix: "/admin"})
	var places []struct{ Name, URL string }
	if err := json.Unmarshal(get(t, h, "/admin/palette").Body.Bytes(), &places); err != nil {
		t.Fatal(err)
	}
	want := []struct{ Name, URL string }{
		{"Queue a", "/admin/queue?name=a"}, {"Kind mail.send", "/admin/kind?name=mail.send"}, {"Cron nightly", "/admin/cron?name=nightly"},
	}
	if len(places) != len(want) {
		t.Fatalf("got %+v", places)
	}
	for i := range want {
		if places[i] != want[i] {
			t.Errorf("got %+v, want %+v", places[i], want[i])
		}
		has(t, get(t, h, places[i].URL), http.StatusOK)
	}
}
