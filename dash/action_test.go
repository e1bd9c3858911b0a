package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestActionOnSelection(t *testing.T) {
	s := memory.New()
	jobs := enqueue(t, s, "mail", `{}`, 3)
	h := dash.New(dash.Config{Store: s})
	ids := []string{"id", jobs[0].ID.String(), "id", jobs[1].ID.String()}
	query := url.Values{"action": {"cancel"}, "id": {ids[1], ids[3]}, "back": {"/jobs?kind=mail"}}
	has(t, get(t, h, "/jobs/action?"+query.Encode()), http.StatusOK, "Cancel 2 jobs?", `href="/jobs?kind=mail"`)
	w := post(t, h, "/jobs/action", append(ids, "action", "cancel", "back", "/jobs?kind=mail")...)
	back := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(back, "/jobs?") || !strings.Contains(back, "kind=mail") {
		t.Fatalf("status %d to %q", w.Code, back)
	}
	has(t, get(t, h, back), http.StatusOK, "2 jobs canceled, or asked to stop.")
	for i, want := range []job.State{job.Canceled, job.Canceled, job.Queued} {
		if got := find(t, s, jobs[i].ID).State; got != want {
			t.Errorf("job %d is %s, want %s", i, got, want)
		}
	}
	// Actions on queued jobs skip canceled ones.
	w = post(t, h, "/jobs/action", append(ids, "action", "discard")...)
	has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, "0 jobs discarded, 2 left alone for their state.")
}

func TestEveryAction(t *testing.T) {
	tests := []struct {
		action, argument string
		done             func(j *job.Job) bool
	}{
		{"retry", "", func(j *job.Job) bool { return j.State == job.Queued && time.Until(j.RunAt) < time.Minute }},
		{"cancel", "", func(j *job.Job) bool { return j.State == job.Canceled }},
		{"discard", "", func(j *job.Job) bool { return j.State == job.Discarded }},
		{"move", "slow", func(j *job.Job) bool { return j.Queue == "slow" }},
		{"priority", "9", func(j *job.Job) bool { return j.Priority == 9 }},
		{"schedule", "48h", func(j *job.Job) bool { return time.Until(j.RunAt).Round(time.Hour) == 48*time.Hour }},
		{"schedule", "2d", func(j *job.Job) bool { return time.Until(j.RunAt).Round(time.Hour) == 48*time.Hour }},
		{"schedule", "2126-01-31 15:04", func(j *job.Job) bool { return j.RunAt.Equal(time.Date(2126, 1, 31, 15, 4, 0, 0, time.UTC)) }},
	}
	for _, test := range tests {
		t.Run(test.action, func(t *testing.T) {
			s := memory.New()
			j := enqueue(t, s, "mail", `{}`, 1, job.In(time.Hour))[0]
			h := dash.New(dash.Config{Store: s})
			w := post(t, h, "/jobs/action", "action", test.action, "argument", test.argument, "id", j.ID.String())
			has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, "1 job ")
			if got := find(t, s, j.ID); !test.done(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestActionOnEverythingThatMatches runs in a synctest bubble, since the count of matching jobs has a time limit.
func TestActionOnEverythingThatMatches(t *testing.T) {
	synctest.Test(t, testActionOnEverythingThatMatches)
}

func testActionOnEverythingThatMatches(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{"user":1}`, 450)
	enqueue(t, s, "mail", `{"user":2}`, 70)
	enqueue(t, s, "page", `{"user":1}`, 30)
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/jobs/action?action=delete&all=1&kind=mail"), http.StatusOK, "Delete 520 jobs?", `name="kind" value="mail"`)
	has(t, get(t, h, "/jobs/action?action=delete&all=1&kind=mail&args=user%3D1"), http.StatusOK, "Delete 450 jobs?")
	has(t, get(t, h, "/jobs/action?action=delete&all=1&kind=nothing"), http.StatusOK, "No job matches", "not <button class=\"danger\"")
	w := post(t, h, "/jobs/action", "action", "delete", "all", "1", "kind", "mail", "args", "user=1")
	has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, "450 jobs deleted.")
	left := 0
	for j, err := range job.List(t.Context(), s, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if left++; j.Kind == "mail" && string(j.Args) == `{"user":1}` {
			t.Fatalf("job %v still exists", j.ID)
		}
	}
	if left != 100 {
		t.Errorf("%d jobs are left, want 100", left)
	}
}

// TestCountIsBounded: when more jobs match than are counted one by one, the page says that there are more.
func TestCountIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the time limit is not reached
		s := memory.New()
		for range 3 {
			enqueue(t, s, "mail", `{"user":1}`, 1000)
		}
		h := dash.New(dash.Config{Store: s})
		has(t, get(t, h, "/jobs/action?action=retry&all=1"), http.StatusOK, "Retry 3,000 jobs?")
		has(t, get(t, h, "/jobs/action?action=retry&all=1&args=user%3D1"), http.StatusOK, "Retry more than 1,000 jobs?", "This cannot be undone")
	})
}

// A searching store finds some jobs immediately, and then blocks.
type searching struct{ *memory.Store }

func (s searching) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	if f.Before == (job.ID{}) && f.Error == "" {
		return s.Store.List(ctx, f)
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestCountIsGivenUp: counting jobs that no index finds stops after a time limit, and the confirmation page shows no exact number.
func TestCountIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := searching{memory.New()}
		enqueue(t, s, "mail", `{"user":1}`, 300)
		h := dash.New(dash.Config{Store: s})
		begun := time.Now()
		has(t, get(t, h, "/jobs/action?action=retry&all=1&args=user%3D1"), http.StatusOK, "Retry more than 200 jobs?",
			"Finding all of them takes longer than this page may.", "if it changes no more than 1,000 jobs.")
		has(t, get(t, h, "/jobs/action?action=delete&all=1&error=none"), http.StatusOK, "Delete all jobs that match?", "not No job matches", `class="danger"`)
		if took := time.Since(begun); took > 80*time.Millisecond {
			t.Errorf("two confirmation pages took %v", took)
		}
	})
}

// A busy store takes a second to find jobs.
type busy struct{ *memory.Store }

func (s busy) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	select {
	case <-time.After(time.Second):
		return s.Store.List(ctx, f)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestQuestionOfABusyStore: the confirmation page for selected jobs has their number, not that of all matching jobs, even if the store is busy.
func TestQuestionOfABusyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := busy{memory.New()}
		jobs := enqueue(t, s, "mail", `{}`, 3)
		h := dash.New(dash.Config{Store: s})
		query := url.Values{"action": {"delete"}, "id": {jobs[0].ID.String(), jobs[1].ID.String()}}
		has(t, get(t, h, "/jobs/action?"+query.Encode()), http.StatusOK, "Delete 2 jobs?", "not all jobs that match")
	})
}

// A slow store needs some seconds for each change.
type slow struct{ *memory.Store }

func (s slow) Apply(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
	time.Sleep(3 * time.Second)
	return s.Store.Apply(ctx, f, action)
}

// TestLongAction: an action that takes longer than one request continues where it stopped, and changes each job once.
func TestLongAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory.New()}
		for range 5 {
			enqueue(t, s, "mail", `{}`, 1000)
		}
		h := dash.New(dash.Config{Store: s})
		w := post(t, h, "/jobs/action", "action", "priority", "argument", "7", "all", "1", "kind", "mail", "back", "/jobs?kind=mail")
		var parts []string
		for range 5 {
			next, err := url.Parse(w.Header().Get("Location"))
			if err != nil || w.Code != http.StatusSeeOther {
				t.Fatalf("status %d: %v", w.Code, err)
			}
			if next.Path != "/jobs/action" {
				has(t, get(t, h, next.String()), http.StatusOK, "5,000 jobs changed.")
				break
			}
			q := next.Query()
			parts = append(parts, q.Get("done"))
			has(t, get(t, h, next.String()), http.StatusOK, "data-go-on", "Go on", "Stop here", `name="done" value="`+q.Get("done")+`"`)
			var fields []string
			for name, values := range q {
				fields = append(fields, name, values[0])
			}
			w = post(t, h, "/jobs/action", fields...)
		}
		if got, want := fmt.Sprint(parts), "[2000 4000]"; got != want {
			t.Errorf("parts end at %s, want %s", got, want)
		}
		for j, err := range job.List(t.Context(), s, job.Filter{}) {
			if err != nil || j.Priority != 7 {
				t.Fatalf("%v, priority %d", err, j.Priority)
			}
		}
	})
}

// TestOnlyWhatHasBegunContinues: a page continues an action by itself once, at the dashboard that did the part before. Any other address asks first,
// such as one in a link that somebody else made, and a form that does not come from such a page changes nothing.
func TestOnlyWhatHasBegunContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory.New()}
		for range 4 {
			enqueue(t, s, "mail", `{}`, 1000)
		}
		left := func() (n int) {
			for _, err := range job.List(t.Context(), s, job.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		h, other := dash.New(dash.Config{Store: s}), dash.New(dash.Config{Store: s})
		has(t, get(t, h, "/jobs/action?action=delete&all=1&done=1"), http.StatusOK, "Delete 4,000 jobs?", "not data-go-on")
		has(t, get(t, h, "/jobs/action?action=delete&all=1&done=1&go-on=A"), http.StatusOK, "Delete 4,000 jobs?", "not data-go-on")
		w := post(t, h, "/jobs/action", "action", "delete", "all", "1", "kind", "mail")
		next, err := url.Parse(w.Header().Get("Location"))
		if err != nil || left() != 2000 {
			t.Fatalf("after the first part %d jobs are left: %v", left(), err)
		}
		var fields []string
		for name, values := range next.Query() {
			fields = append(fields, name, values[0])
		}
		const asks = "Delete more than 1,000 jobs?"
		has(t, get(t, other, next.String()), http.StatusOK, asks, "not data-go-on", `not name="go-on"`)
		asked := post(t, other, "/jobs/action", fields...).Header().Get("Location")
		has(t, get(t, other, asked), http.StatusOK, asks, "not data-go-on")
		if n := left(); n != 2000 {
			t.Errorf("another dashboard continued: %d jobs are left", n)
		}
		has(t, get(t, h, next.String()), http.StatusOK, "data-go-on", "2,000 jobs done. Go on?")
		post(t, h, "/jobs/action", fields...)
		enqueue(t, s, "mail", `{}`, 1)
		has(t, get(t, h, next.String()), http.StatusOK, "not data-go-on")
		asked = post(t, h, "/jobs/action", fields...).Header().Get("Location")
		has(t, get(t, h, asked), http.StatusOK, "No job matches", "not data-go-on")
		if n := left(); n != 1 {
			t.Errorf("%d jobs are left, want 1", n)
		}
	})
}

// TestActionThatSearchesLong: an action by args or error gets to the end however few jobs match among how many others, and the audit log has an entry
// for each part that changed something.
func TestActionThatSearchesLong(t *testing.T) {
	for field, text := range map[string]string{"args": "user=7", "error": "no"} {
		for _, front := range []int{0, 3} {
			t.Run(fmt.Sprint(field, front), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := busy{memory.New()}
					match := func(n int) {
						enqueue(t, s, "mail", `{"user":7}`, n)
						for range n {
							settle(t, s, job.DefaultQueue, func(j *job.Job) {
								j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
								j.Failures = []job.Failure{{Attempt: 1, Error: "no"}}
							})
						}
					}
					match(1)
					enqueue(t, s, "mail", `{"user":1}`, 2000, job.In(time.Hour))
					match(front)
					h := dash.New(dash.Config{Store: s})
					parts, end := follow(t, h, post(t, h, "/jobs/action", "action", "priority", "argument", "9", "all", "1", field, text))
					has(t, get(t, h, end), http.StatusOK, count(front+1)+" changed")
					entries, err := s.Audited(t.Context(), 0, 10)
					if want := 1 + min(front, 1); err != nil || len(entries) != want || parts < 2 || parts > 5 {
						t.Errorf("after %d parts the audit log has %d entries, want %d: %v", parts, len(entries), want, err)
					}
				})
			})
		}
	}
}

func count(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprint(n, " jobs")
}

// follow continues an action until it is done, as the script of its page does. It returns the number of parts and the address of the page at the end.
func follow(t *testing.T, h http.Handler, w *httptest.ResponseRecorder) (parts int, end string) {
	t.Helper()
	for parts = 1; parts < 20; parts++ {
		end = w.Header().Get("Location")
		next, err := url.Parse(end)
		if err != nil || w.Code != http.StatusSeeOther {
			t.Fatalf("part %d: status %d: %v", parts, w.Code, err)
		}
		if next.Path != "/jobs/action" {
			return parts, end
		}
		has(t, get(t, h, end), http.StatusOK, "data-go-on")
		var fields []string
		for name, values := range next.Query() {
			fields = append(fields, name, values[0])
		}
		w = post(t, h, "/jobs/action", fields...)
	}
	t.Fatalf("the action is not done after %d parts", parts)
	return parts, end
}

// A stuck store lists no jobs.
type stuck struct{ *memory.Store }

func (s stuck) List(ctx context.Context, _ job.Filter) ([]*job.Job, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestActionOfAStoreThatHangs: an action that finds nothing in its time ends with an error, not with a page that continues for ever.
func TestActionOfAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: stuck{memory.New()}})
		has(t, post(t, h, "/jobs/action", "action", "delete", "all", "1", "error", "no"), http.StatusServiceUnavailable, "The store did not answer in time. Try again.")
	})
}

func TestWrongActions(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: s})
	tests := []struct {
		path   string
		fields []string
		status int
		want   string
	}{
		{"/jobs/action", []string{"action", "explode", "id", id}, 400, "&#34;explode&#34; is not an action"},
		{"/jobs/action", []string{"action", "retry"}, 400, "No job is selected"},
		{"/jobs/action", []string{"action", "retry", "id", "7"}, 400, "is not a job ID"},
		{"/jobs/action", []string{"action", "priority", "argument", "10", "id", id}, 400, "is not a number from 1 to 9"},
		{"/jobs/action", []string{"action", "schedule", "argument", "soon", "id", id}, 400, "neither a time from now"},
		{"/jobs/action", []string{"action", "schedule", "argument", "", "id", id}, 400, "neither a time from now"},
		{"/jobs/action", []string{"action", "schedule", "argument", "1969-12-31", "id", id}, 400, "is in the year 1969: give one from 1970 to 9999"},
		{"/jobs/action", []string{"action", "schedule", "argument", "0001-01-01", "id", id}, 400, "is in the year 1: give one from 1970 to 9999"},
		{"/jobs/action", []string{"action", "schedule", "argument", "9999-12-31T23:59:59-12:00", "id", id}, 400, "is in the year 10000: give one from 1970 to 9999"},
		{"/jobs/action", []string{"action", "move", "argument", "", "id", id}, 400, "is not a valid name of a queue"},
		{"/jobs/action", []string{"action", "move", "argument", "a b", "id", id}, 400, "is not a valid name of a queue"},
		{"/jobs/action", []string{"action", "retry", "all", "1", "args", "x"}, 400, "write a path and a value"},
		{"/queues", []string{"action", "pause", "queue", "nowhere"}, 404, "There is no queue &#34;nowhere&#34;"},
		{"/queues", []string{"action", "burn", "queue", "default"}, 400, "is not an action on queues"},
		{"/queues", []string{"action", "remove-limits", "queue", "default"}, 400, "the limit key is empty"},
		{"/crons", []string{"action", "pause", "cron", "nothing"}, 404, "There is no cron"},
		{"/jobs/action", []string{"action", strings.Repeat("x", 70<<10)}, 413, "The form is longer than"},
	}
	for _, test := range tests {
		has(t, post(t, h, test.path, test.fields...), test.status, test.want)
	}
	if got := find(t, s, jobID(t, id)); got.State != job.Queued || got.Priority != job.DefaultPriority {
		t.Errorf("the job has changed: %+v", got)
	}
	has(t, get(t, h, "/jobs?kind="+strings.Repeat("x", 17<<10)), http.StatusRequestURITooLong, "The search is longer than")
}

func jobID(t *testing.T, text string) job.ID {
	t.Helper()
	id, err := job.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPause(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 1)
	if _, err := s.Tick(t.Context(), job.Tick{Cron: "nightly", Spec: "@daily", Next: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	h := dash.New(dash.Config{Store: s})
	for _, step := range []struct {
		path, field, name, action, reported, button string
	}{
		{"/queues", "queue", "default", "pause", "The queue is paused", "Resume"},
		{"/queues", "queue", "default", "resume", "The queue is resumed", "Pause"},
		{"/crons", "cron", "nightly", "pause", "The cron is paused", "Resume"},
		{"/crons", "cron", "nightly", "resume", "The cron is resumed", "Pause"},
	} {
		w := post(t, h, step.path, step.field, step.name, "action", step.action)
		has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, step.reported, ">"+step.button+"</button>")
	}
}

// TestAskedAgain: after an invalid argument the page asks again and shows the given value, so that no input is lost, with or without scripts.
func TestAskedAgain(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: s})
	for _, test := range []struct{ action, argument, want string }{
		{"priority", "99", `type="number" min="1" max="9"`},
		{"move", "a b", "Move 1 job?"},
		{"schedule", "soon", "Schedule 1 job?"},
		{"schedule", "1969-12-31 23:59", "Schedule 1 job?"},
	} {
		w := post(t, h, "/jobs/action", "action", test.action, "argument", test.argument, "id", id, "back", "/jobs?kind=mail")
		has(t, w, http.StatusBadRequest, test.want, `value="`+test.argument+`" aria-invalid="true"`, `role="alert"`, `name="id" value="`+id+`"`, `href="/jobs?kind=mail"`,
			`not name="argument" value="`+test.argument+`"><input`)
	}
}

func TestQuestions(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/jobs/action?action=retry"), http.StatusOK, "No job is selected", "Tick some jobs", "not <button class=\"main\">")
	has(t, get(t, h, "/jobs/action?action=priority&all=1"), http.StatusOK, "Set the priority of 1 job?")
	has(t, get(t, h, "/jobs/action?action=run&id="+id), http.StatusOK, "Run 1 job now?")
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, `value="run">Run now</button>`, `not value="retry"`)
	if _, err := job.Apply(t.Context(), s, job.Filter{}, job.ActionCancel); err != nil {
		t.Fatal(err)
	}
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, `value="retry">Retry</button>`, `not value="run"`)
	post(t, h, "/jobs/action", "action", "run", "id", id)
	for j, err := range job.List(t.Context(), s, job.Filter{}) {
		if err != nil || j.State != job.Canceled {
			t.Errorf("a canceled job was run: %v, %v", j, err)
		}
	}
}
