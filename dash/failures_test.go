package dash_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// fail makes n jobs of a kind fail, each with an error.
func fail(t *testing.T, s job.Store, kind string, state job.State, n int, text func(i int) string) (last *job.Job) {
	t.Helper()
	enqueue(t, s, kind, `{}`, n)
	for i := range n {
		last = settle(t, s, job.DefaultQueue, func(j *job.Job) {
			j.State = state
			if state == job.Queued {
				j.RunAt = time.Now().Add(time.Hour)
			}
			j.Failures = []job.Failure{{Attempt: 1, Started: j.Started, Time: time.Now(), Worker: "w", Error: text(i), Stack: "main.charge()"}}
		})
	}
	return last
}

func TestFailures(t *testing.T) {
	s := memory.New()
	fail(t, s, "card.charge", job.Queued, 3, func(i int) string { return fmt.Sprintf("user %d: status 503\nand more", 1000+i) })
	newest := fail(t, s, "card.charge", job.Discarded, 2, func(i int) string { return fmt.Sprintf("user %d: status 503", 2000+i) })
	fail(t, s, "card.charge", job.Discarded, 1, func(int) string { return "user 1: status 402" })
	fail(t, s, "<b>", job.Discarded, 1, func(int) string { return "<script>" })
	enqueue(t, s, "well", `{}`, 1)
	h := dash.New(dash.Config{Store: s})

	w := get(t, h, "/failures")
	has(t, w, http.StatusOK, "user …: status 503", `3 retrying,</span> <span class="of">2 discarded</span>`, "user …: status 402", "1 discarded", "main.charge()", newest.ID.String(), "Retry",
		"not well", "not and more", "not <b>", "not <script>", "up to 5 failures in two minutes")
	body := w.Body.String()
	if i, k := strings.Index(body, "status 503"), strings.Index(body, "status 402"); i > k {
		t.Error("the error of most jobs is not the first")
	}
	has(t, get(t, h, "/failures?kind=card.charge"), http.StatusOK, "Failures of <a href=\"/kind?name=card.charge\">card.charge</a>", "status 402", "not &lt;b&gt;")
	has(t, get(t, h, "/failures?kind=nothing"), http.StatusOK, "Nothing fails")

	// The links of a group lead to its jobs, and to the page that asks whether to retry them.
	_, rest, _ := strings.Cut(body, `href="/jobs?`)
	query, _, _ := strings.Cut(rest, `"`)
	query = html.UnescapeString(query)
	has(t, get(t, h, "/jobs?"+query), http.StatusOK, "status 503", "not status 402")
	has(t, get(t, h, "/jobs/action?action=retry&all=1&"+query), http.StatusOK, "Retry 5 jobs?", "Every job whose error contains the text matches")
	has(t, get(t, h, "/jobs/action?action=retry&all=1&kind=card.charge"), http.StatusOK, "Retry 6 jobs?", "not contains the text")

	reader := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, reader, "/failures"), http.StatusOK, "status 503", "not >Retry<")
}

// TestFailuresWithoutWords: if no part of an error distinguishes its jobs from others of their kind, a retry is not offered,
// since it would retry all of these.
func TestFailuresWithoutWords(t *testing.T) {
	s := memory.New()
	fail(t, s, "card.charge", job.Discarded, 2, func(i int) string { return fmt.Sprint("E ", 1000+i) })
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/failures"), http.StatusOK, "2 discarded", "not >Retry<")
}

// TestManyFailures: the page says when there are more errors than are shown, or more jobs than are read.
func TestManyFailures(t *testing.T) {
	s := memory.New()
	fail(t, s, "old", job.Discarded, 1, func(int) string { return "long ago" })
	fail(t, s, "new", job.Discarded, 1000, func(i int) string { return fmt.Sprintf("error %c%c", 'a'+i%10, 'a'+i/10%10) })
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/failures"), http.StatusOK, "The newest 500 of them, back to", "50 more errors, of fewer jobs, not shown", "not long ago")
}

// TestErrorInTheHead: the head of a job's page shows the error of its last attempt, in one line, until the job has completed.
func TestErrorInTheHead(t *testing.T) {
	s := memory.New()
	h := dash.New(dash.Config{Store: s})
	j := enqueue(t, s, "mail.send", `{}`, 1)[0]
	path, head := "/jobs/"+j.ID.String(), `<a class="last-error bad" href="#h-failures">`
	has(t, get(t, h, path), http.StatusOK, "not "+head)
	add := func(j *job.Job, text string) {
		j.Failures = append(j.Failures, job.Failure{Attempt: j.Attempt, Started: j.Started, Time: time.Now(), Worker: "w", Error: text})
	}
	settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State, j.RunAt = job.Queued, time.Time{}; add(j, "the first") })
	settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State, j.RunAt = job.Queued, time.Time{}; add(j, "relay refused\ntoken=hunter2") })
	has(t, get(t, h, path), http.StatusOK, head+"relay refused token=•••</a>")
	settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State = job.Completed })
	has(t, get(t, h, path), http.StatusOK, "not "+head)
}
