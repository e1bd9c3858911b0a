package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

var undoButton = regexp.MustCompile(`name="undo" value="(\w+)"`)

// did follows an action to its result page, and returns the ID of the undo that the page offers, or "".
func did(t *testing.T, h http.Handler, w *httptest.ResponseRecorder, want string) (undo string) {
	t.Helper()
	page := get(t, h, w.Header().Get("Location"))
	has(t, page, http.StatusOK, want)
	if found := undoButton.FindStringSubmatch(page.Body.String()); found != nil {
		return found[1]
	}
	return ""
}

// TestUndo: each action on queued jobs can be undone, and then the job is as it was before.
func TestUndo(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (job.Store, error){
		"memory": func() (job.Store, error) { return memory.New(), nil },
		"sqlite": func() (job.Store, error) { return sqlite.Open(t.Context(), "sqlite:"+t.TempDir()+"/jobs.db") },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			h := dash.New(dash.Config{Store: s})
			enqueue(t, s, "mail", `{}`, 1)
			failed := settle(t, s, job.DefaultQueue, func(j *job.Job) { // with a finished attempt
				j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
				j.Failures = []job.Failure{{Attempt: 1, Error: "no"}}
			})
			jobs := append(enqueue(t, s, "mail", `{}`, 1, job.Priority(3), job.In(time.Hour), job.Unique("a")), failed)
			jobs = append(jobs, enqueue(t, s, "mail", `{}`, 1, job.In(2*time.Hour))...)
			for _, test := range []struct{ action, argument string }{
				{"cancel", ""}, {"discard", ""}, {"move", "slow"}, {"priority", "9"}, {"schedule", "48h"}, {"run", ""}, {"retry", ""},
			} {
				before := describe(t, s, jobs)
				undo := did(t, h, post(t, h, "/jobs/action", "action", test.action, "argument", test.argument, "all", "1", "kind", "mail"), "3 jobs ")
				if undo == "" || describe(t, s, jobs) == before {
					t.Fatalf("%s: undo %q of\n%s", test.action, undo, describe(t, s, jobs))
				}
				has(t, get(t, h, "/audit"), http.StatusOK, "Can be undone", undo)
				did(t, h, post(t, h, "/undo", "undo", undo, "back", "/jobs?kind=mail"), "Undone for 3 jobs.")
				if got := describe(t, s, jobs); got != before {
					t.Errorf("%s is undone to\n%s, want\n%s", test.action, got, before)
				}
				has(t, post(t, h, "/undo", "undo", undo), http.StatusGone, "cannot be undone any more")
			}
			entries, err := s.Audited(t.Context(), 0, 1)
			if err != nil || entries[0].Action != "undo retry" || entries[0].Target != "kind=mail" || entries[0].Changed != 3 {
				t.Errorf("the audit log has %+v: %v", entries, err)
			}
		})
	}
}

func describe(t *testing.T, s job.Store, jobs []*job.Job) string {
	t.Helper()
	var b strings.Builder
	for _, j := range jobs {
		now := find(t, s, j.ID)
		fmt.Fprintln(&b, now.State, now.Queue, now.Priority, now.RunAt.UTC(), now.Attempt, now.Used(), now.Finished, now.LastError())
	}
	return b.String()
}

// TestUndoLeavesAlone: an undo does not touch jobs that have run or changed since the action, or that were not queued.
func TestUndoLeavesAlone(t *testing.T) {
	s := memory.New()
	h := dash.New(dash.Config{Store: s})
	jobs := enqueue(t, s, "mail", `{}`, 4, job.In(time.Hour))
	held := enqueue(t, s, "mail", `{}`, 1, job.Unique("a"), job.In(time.Hour))[0]
	undo := did(t, h, post(t, h, "/jobs/action", "action", "cancel", "all", "1"), "5 jobs canceled")
	enqueue(t, s, "page", `{}`, 1, job.In(time.Hour))
	again, err := job.New("mail", []byte(`{}`), job.Unique("a"), job.In(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Insert(t.Context(), s, again); err != nil {
		t.Fatal(err)
	}
	post(t, h, "/jobs/action", "action", "retry", "id", jobs[0].ID.String())
	ran := settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State = job.Canceled }) // canceled as before, but it has run since
	post(t, h, "/jobs/action", "action", "delete", "id", jobs[1].ID.String())
	did(t, h, post(t, h, "/undo", "undo", undo), "Undone for 2 jobs; 2 left alone, as they have run or were changed since; 1 left alone, as another job holds its unique key.")
	for _, test := range []struct {
		id   job.ID
		want job.State
	}{{ran.ID, job.Canceled}, {held.ID, job.Canceled}, {jobs[2].ID, job.Queued}, {jobs[3].ID, job.Queued}} {
		if got := find(t, s, test.id).State; got != test.want {
			t.Errorf("%v is %s, want %s", test.id, got, test.want)
		}
	}
	// No undo is offered if nothing was changed, or nothing can be restored.
	if undo := did(t, h, post(t, h, "/jobs/action", "action", "priority", "argument", "5", "id", jobs[2].ID.String()), "1 job changed"); undo != "" {
		t.Error("an action that changed nothing can be undone")
	}
	if undo := did(t, h, post(t, h, "/jobs/action", "action", "retry", "id", ran.ID.String()), "1 job retried"); undo != "" {
		t.Error("the retry of a finished job can be undone")
	}
	if undo := did(t, h, post(t, h, "/jobs/action", "action", "delete", "id", jobs[2].ID.String()), "1 job deleted"); undo != "" {
		t.Error("a delete can be undone")
	}
}

// An eager store runs a job, as a worker would, as soon as an action has queued it.
type eager struct {
	*memory.Store
	run func()
}

func (e eager) Apply(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
	defer e.run()
	return e.Store.Apply(ctx, f, action)
}

// TestUndoOfWhatRunsAtOnce: no undo is offered for a job that has run before the action returned.
func TestUndoOfWhatRunsAtOnce(t *testing.T) {
	s := memory.New()
	h := dash.New(dash.Config{Store: eager{s, func() {
		settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour })
	}}})
	enqueue(t, s, "mail", `{}`, 1, job.In(time.Hour))
	if undo := did(t, h, post(t, h, "/jobs/action", "action", "run", "all", "1"), "1 job due now"); undo != "" {
		t.Error("a job that has run can be undone")
	}
}

// TestUndoPause: pausing and resuming can be undone, unless another user has done so, or nothing was changed.
func TestUndoPause(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 1)
	tick(t, s, "nightly", time.Hour)
	h := dash.New(dash.Config{Store: s})
	for path, fields := range map[string][]string{"/queues": {"queue", "default"}, "/crons": {"cron", "nightly"}} {
		apply := func(name string) string {
			return did(t, h, post(t, h, path, append(fields, "action", name)...), "is "+name+"d")
		}
		first := apply("pause")
		if again := apply("pause"); again != "" {
			t.Errorf("%s: a pause that changed nothing can be undone", path)
		}
		did(t, h, post(t, h, "/undo", "undo", first, "back", path), "The action is undone.")
		has(t, get(t, h, path), http.StatusOK, ">Pause</button>")
		apply("pause")
		resumed := apply("resume")
		did(t, h, post(t, h, "/undo", "undo", resumed, "back", path), "The action is undone.")
		has(t, get(t, h, path), http.StatusOK, ">Resume</button>")
		resumed = apply("resume")
		apply("pause")
		did(t, h, post(t, h, "/undo", "undo", resumed, "back", path), "Nothing is undone")
	}
}

// TestUndoIsBounded: the number of jobs, the number of undos and their time are limited.
func TestUndoIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		h := dash.New(dash.Config{Store: s})
		enqueue(t, s, "mail", `{}`, 1000)
		const few = "For 10 min it can be undone"
		has(t, get(t, h, "/jobs/action?action=cancel&all=1"), http.StatusOK, few)
		has(t, get(t, h, "/jobs/action?action=delete&all=1"), http.StatusOK, "This cannot be undone", "not "+few)
		undo := did(t, h, post(t, h, "/jobs/action", "action", "priority", "argument", "9", "all", "1"), "1,000 jobs changed")
		if undo == "" {
			t.Error("an action on 1,000 jobs cannot be undone")
		}
		one := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
		has(t, get(t, h, "/jobs/action?action=cancel&all=1"), http.StatusOK, "This cannot be undone: only what changes up to 1,000 jobs can be.", "not "+few)
		if undo := did(t, h, post(t, h, "/jobs/action", "action", "priority", "argument", "8", "all", "1"), "1,001 jobs changed"); undo != "" {
			t.Error("an action on 1,001 jobs can be undone")
		}
		time.Sleep(10 * time.Minute)
		has(t, get(t, h, "/audit"), http.StatusOK, "not Can be undone")
		has(t, post(t, h, "/undo", "undo", undo), http.StatusGone, "longer than 10 min ago")
		first := did(t, h, post(t, h, "/jobs/action", "action", "move", "argument", "q", "id", one), "1 job moved")
		for i := range 50 {
			did(t, h, post(t, h, "/jobs/action", "action", "priority", "argument", fmt.Sprint(1+i%9), "id", one), "1 job changed")
		}
		has(t, post(t, h, "/undo", "undo", first), http.StatusGone, "cannot be undone any more")
	})
}

// A sluggish store takes some time to find jobs, and some to change them.
type sluggish struct {
	*memory.Store
	list, apply time.Duration
}

func (s *sluggish) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	select {
	case <-time.After(s.list):
		return s.Store.List(ctx, f)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *sluggish) Apply(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
	time.Sleep(s.apply)
	return s.Store.Apply(ctx, f, action)
}

// TestUndoOfASluggishStore: the undo that the question promises is offered, also if the jobs are found slowly, and if the action has several parts.
func TestUndoOfASluggishStore(t *testing.T) {
	for name, test := range map[string]struct {
		jobs    int
		filter  []string
		store   sluggish
		promise string
	}{
		"by args":       {700, []string{"args", "user=1"}, sluggish{list: 2 * time.Second}, "if it changes no more than 1,000 jobs."},
		"by kind":       {200, []string{"kind", "mail"}, sluggish{list: 2 * time.Second}, "that have not run since."},
		"by time":       {200, []string{"since", "1h"}, sluggish{list: 2 * time.Second}, "if it changes no more than 1,000 jobs, which are found within 5 s."},
		"changed late":  {1000, []string{"kind", "mail"}, sluggish{apply: 6 * time.Second}, "that have not run since."},
		"too many":      {1001, []string{"args", "user=1"}, sluggish{list: time.Second}, "if it changes no more than 1,000 jobs."},
		"too many late": {1001, []string{"kind", "mail"}, sluggish{apply: 6 * time.Second}, "This cannot be undone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &test.store
				s.Store = memory.New()
				jobs := enqueue(t, s, "mail", `{"user":1}`, test.jobs, job.In(time.Hour))
				h := dash.New(dash.Config{Store: s})
				form := append(test.filter, "action", "priority", "argument", "9", "all", "1")
				has(t, get(t, h, "/jobs/action?action=priority&all=1&"+test.filter[0]+"="+url.QueryEscape(test.filter[1])), http.StatusOK, test.promise)
				_, end := follow(t, h, post(t, h, "/jobs/action", form...))
				page := get(t, h, end)
				undo := undoButton.FindStringSubmatch(page.Body.String())
				if wanted := test.jobs <= 1000; (undo != nil) != wanted {
					t.Fatalf("an undo is offered: %t, want %t", undo != nil, wanted)
				} else if !wanted {
					return
				}
				s.list, s.apply = 0, 0
				did(t, h, post(t, h, "/undo", "undo", undo[1]), "Undone for ")
				for _, j := range jobs {
					if got := find(t, s, j.ID); got.Priority != job.DefaultPriority {
						t.Fatalf("after the undo a job has the priority %d", got.Priority)
					}
				}
			})
		})
	}
}

// TestUndoReadOnly: viewers are offered no undo.
func TestUndoReadOnly(t *testing.T) {
	s, viewer := memory.New(), false
	h := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return viewer }})
	enqueue(t, s, "mail", `{}`, 1)
	w := post(t, h, "/jobs/action", "action", "cancel", "all", "1")
	for _, path := range []string{w.Header().Get("Location"), "/audit"} {
		viewer = false
		has(t, get(t, h, path), http.StatusOK, ">Undo</button>")
		viewer = true
		has(t, get(t, h, path), http.StatusOK, "not Undo</button>", "not Can be undone")
	}
}
