package dash_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestManyQueuesAndKinds: with thousands of queues and kinds, a page lists those with the most unfinished jobs, says how many others there are, and
// finds the others by name.
func TestManyQueuesAndKinds(t *testing.T) {
	s := memory.New()
	const n = 600
	var jobs []*job.Job
	add := func(kind, queue string) {
		j, err := job.New(kind, json.RawMessage(`{}`), job.Queue(queue))
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	for i := range n {
		add(fmt.Sprintf("kind-%03d", i), fmt.Sprintf("queue-%03d", i))
		add(fmt.Sprintf("kind-%03d", i), "shared")
		add("everywhere", fmt.Sprintf("queue-%03d", i))
	}
	add("kind-000", "queue-599") // one more than the others have
	if _, err := job.Insert(t.Context(), s, jobs...); err != nil {
		t.Fatal(err)
	}
	if err := s.Pause(t.Context(), "paused-only", true); err != nil {
		t.Fatal(err)
	}
	tick(t, s, "nightly", time.Hour)
	h := dash.New(dash.Config{Store: s})
	const shared, last, others, unlisted = `name=shared"`, `name=queue-599"`, `name=queue-001"`, `name=queue-598"`
	for path, c := range map[string]struct {
		rows  int
		texts []string
	}{
		"/queues":               {500, []string{"102 more queues, with fewer unfinished jobs, not shown", shared, last, others, "not " + unlisted, `action="/queue"`}},
		"/":                     {100, []string{"502 more queues, with fewer jobs, not shown", shared, last, others, "not " + unlisted}},
		"/queue?name=shared":    {50, []string{"550 more kinds, with fewer jobs, not shown"}},
		"/kind?name=everywhere": {50, []string{"550 more queues, with fewer jobs, not shown"}},
		"/queue?name=queue-598": {2, []string{"<h1>Queue queue-598", "not more kinds"}},
	} {
		w := get(t, h, path)
		has(t, w, 200, c.texts...)
		body := w.Body.String()
		list, _, _ := strings.Cut(body[strings.Index(body, `<table class="list`):], "</table>")
		if got := strings.Count(list, `<td class="name">`); got != c.rows {
			t.Errorf("%s lists %d, want %d", path, got, c.rows)
		}
	}
	if offered := strings.Count(get(t, h, "/jobs").Body.String(), "<option "); offered != 1000 {
		t.Errorf("the search offers %d kinds and queues, want 500 of each", offered)
	}
	palette := get(t, h, "/palette").Body.String()
	for what, want := range map[string]int{"Queue ": 500, "Kind ": 500, "Cron ": 1} {
		if got := strings.Count(palette, `"`+what); got != want {
			t.Errorf("the palette leads to %d of %q, want %d", got, what, want)
		}
	}
	has(t, post(t, h, "/queues", "queue", "queue-598", "action", "pause"), 303)
	has(t, get(t, h, "/queue?name=queue-598"), 200, "s-paused")
}

// TestFewQueues: a list of few queues does not mention others.
func TestFewQueues(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 1)
	h := dash.New(dash.Config{Store: s})
	for _, path := range []string{"/", "/queues", "/queue?name=default", "/kind?name=mail"} {
		has(t, get(t, h, path), 200, "not not shown", `not action="/queue"`)
	}
}
