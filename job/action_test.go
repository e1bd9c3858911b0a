package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// inState returns a store with one job, in the state.
func inState(t *testing.T, state job.State) (job.Store, job.ID) {
	t.Helper()
	ctx, store := t.Context(), memory.New()
	done, err := noteKind.Enqueue(ctx, store, note{})
	if err != nil {
		t.Fatal(err)
	}
	if state == job.Queued {
		return store, done.ID
	}
	got, err := store.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 1}}, Limit: 1, Lease: time.Hour})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatalf("claim: %+v, %v", got, err)
	}
	if state != job.Running {
		got.Jobs[0].State = state
		if lost, err := store.Settle(ctx, 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
			t.Fatalf("settle: %v, %v", lost, err)
		}
	}
	return store, done.ID
}

func TestActions(t *testing.T) {
	const gone, skipped = job.State("gone"), job.State("")
	states := []job.State{job.Queued, job.Running, job.Completed, job.Canceled, job.Discarded}
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	tests := []struct {
		action job.Action
		want   [5]job.State // by the state before; skipped: left alone
		check  func(*job.Job) bool
	}{
		{job.ActionRetry, [5]job.State{job.Queued, skipped, job.Queued, job.Queued, job.Queued}, func(j *job.Job) bool { return j.Used() == 0 }},
		{job.ActionCancel, [5]job.State{job.Canceled, job.Running, skipped, skipped, skipped}, func(j *job.Job) bool { return j.State == job.Canceled || j.CancelRequested }},
		{job.ActionDiscard, [5]job.State{job.Discarded, skipped, skipped, skipped, skipped}, nil},
		{job.ActionDelete, [5]job.State{gone, skipped, gone, gone, gone}, nil},
		{job.ActionMove("other"), [5]job.State{job.Queued, skipped, skipped, skipped, skipped}, func(j *job.Job) bool { return j.Queue == "other" }},
		{job.ActionPriority(9), [5]job.State{job.Queued, skipped, skipped, skipped, skipped}, func(j *job.Job) bool { return j.Priority == 9 }},
		{job.ActionRunAt(at), [5]job.State{job.Queued, skipped, skipped, skipped, skipped}, func(j *job.Job) bool { return j.RunAt.Equal(at) }},
	}
	for _, test := range tests {
		for i, before := range states {
			t.Run(fmt.Sprint(test.action, " ", before), func(t *testing.T) {
				store, id := inState(t, before)
				done, err := job.Apply(t.Context(), store, job.Filter{IDs: []job.ID{id}}, test.action)
				if err != nil {
					t.Fatal(err)
				}
				want := job.ActionResult{Changed: 1}
				if test.want[i] == skipped {
					want = job.ActionResult{Skipped: 1}
				}
				if done != want {
					t.Errorf("%+v, want %+v", done, want)
				}
				j, err := job.Find(t.Context(), store, id)
				switch {
				case test.want[i] == gone:
					if err == nil {
						t.Errorf("it is still there, %s", j.State)
					}
				case err != nil:
					t.Error(err)
				case test.want[i] == skipped:
					if j.State != before {
						t.Errorf("state %s, want %s as before", j.State, before)
					}
				case j.State != test.want[i] || test.check != nil && !test.check(j):
					t.Errorf("%+v, want state %s", j, test.want[i])
				}
			})
		}
	}
}

func TestActionErrors(t *testing.T) {
	store, _ := inState(t, job.Queued)
	for _, test := range []struct {
		action job.Action
		want   string
	}{
		{job.ActionMove("a b"), `move: the name of the queue has a space or a control character in it: "a b"`},
		{job.ActionPriority(10), "reprioritise: priority 10: give from 1 to 9"},
		{job.ActionRunAt(time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)), "schedule: a run time in the year 1950: give one from 1970 to 9999"},
	} {
		if _, err := job.Apply(t.Context(), store, job.Filter{}, test.action); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if err := test.action.Check(); err == nil || test.action.String()+": "+err.Error() != test.want {
			t.Errorf("Check: got %v, want %s", err, test.want)
		}
	}
	if err := job.ActionMove("other").Check(); err != nil {
		t.Error(err)
	}
}

func TestApplyToEverythingThatMatches(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	for i := range 1000 {
		args := json.RawMessage(fmt.Sprintf(`{"user":{"id":%d,"name":"n%d"},"list":[%d,"x"]}`, i%10, i%10, i))
		j, err := job.New("k", args, job.Queue([]string{"a", "b"}[i%2]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Insert(ctx, store, j); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		filter job.Filter
		want   int
	}{
		{job.Filter{Args: []job.ArgsMatch{{"user.id", "3"}}}, 100},
		{job.Filter{Args: []job.ArgsMatch{{"user.name", "n3"}, {"list.1", "x"}}}, 100},
		{job.Filter{Args: []job.ArgsMatch{{"list.0", "17"}}}, 1},
		{job.Filter{Args: []job.ArgsMatch{{"user.id", "3"}}, Queues: []string{"a"}}, 0},
		{job.Filter{Args: []job.ArgsMatch{{"user", `{"id":4,"name":"n4"}`}}}, 100},
		{job.Filter{Args: []job.ArgsMatch{{"nobody", "3"}}}, 0},
		{job.Filter{Args: []job.ArgsMatch{{"user.id", "5"}}, Limit: 7}, 7},
		{job.Filter{Queues: []string{"a"}, Limit: 450}, 450},
		{job.Filter{Error: "nothing"}, 0},
	}
	for _, test := range tests {
		done, err := job.Apply(ctx, store, test.filter, job.ActionPriority(9))
		if err != nil || done.Changed != test.want {
			t.Errorf("%+v: %+v, %v; want %d", test.filter, done, err, test.want)
		}
	}
	done, err := job.Apply(ctx, store, job.Filter{}, job.ActionDelete)
	if err != nil || done.Changed != 1000 {
		t.Errorf("delete all: %+v, %v", done, err)
	}
}

// TestApplyCountsWhatAFailedCallHasDone: a store that changes jobs in several parts may have changed some when it fails.
func TestApplyCountsWhatAFailedCallHasDone(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	for range 1500 {
		if _, err := noteKind.Enqueue(ctx, store, note{}); err != nil {
			t.Fatal(err)
		}
	}
	failing := &failsHalfway{Store: store, left: 1}
	done, err := job.Apply(ctx, failing, job.Filter{}, job.ActionDiscard)
	if !errors.Is(err, errHalfway) || done.Changed != 1250 {
		t.Fatalf("got %+v, %v; 1000 and half of 500 have changed", done, err)
	}
	rest, err := job.Apply(ctx, failing, job.Filter{Before: done.Next}, job.ActionDiscard)
	if err != nil || rest.Changed != 250 {
		t.Errorf("from there on: %+v, %v; want 250 more", rest, err)
	}
}

var errHalfway = errors.New("halfway")

// failsHalfway fails once, after a number of calls to Apply, when it has changed half of what it was to.
type failsHalfway struct {
	job.Store
	left int
}

func (s *failsHalfway) Apply(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
	s.left--
	if s.left != -1 {
		return s.Store.Apply(ctx, f, action)
	}
	f.Limit = 250
	done, err := s.Store.Apply(ctx, f, action)
	return done, errors.Join(err, errHalfway)
}

func TestListPagesFromTheNewest(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	var want []job.ID
	for range 450 {
		done, err := noteKind.Enqueue(ctx, store, note{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, done.ID)
	}
	slices.Reverse(want)
	for _, limit := range []int{0, 1, 200, 201, 450} {
		var got []job.ID
		for j, err := range job.List(ctx, store, job.Filter{Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, j.ID)
		}
		n := limit
		if n == 0 {
			n = len(want)
		}
		if !slices.Equal(got, want[:n]) {
			t.Errorf("limit %d: %d jobs, not the newest %d in order", limit, len(got), n)
		}
	}
}

func TestRetryOfAJobWhoseUniqueKeyIsTaken(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	first, err := noteKind.Enqueue(ctx, store, note{}, job.Unique("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Apply(ctx, store, job.Filter{}, job.ActionDiscard); err != nil {
		t.Fatal(err)
	}
	if second, err := noteKind.Enqueue(ctx, store, note{}, job.Unique("one")); err != nil || second.Duplicate {
		t.Fatalf("%+v, %v", second, err)
	}
	done, err := job.Apply(ctx, store, job.Filter{IDs: []job.ID{first.ID}}, job.ActionRetry)
	if err != nil || done != (job.ActionResult{Conflicts: 1}) {
		t.Errorf("%+v, %v; want a conflict", done, err)
	}
}

// TestCancelAJobOfADeadProcess: nobody is there to be told, and whoever finds the job must not run it again.
func TestCancelAJobOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		id := r.enqueue()
		dead := job.Claim{Worker: "dead", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: 10 * time.Second}
		if got, err := r.store.Claim(r.ctx, dead); err != nil || len(got.Jobs) != 1 {
			t.Fatal(got, err)
		}
		runs := 0
		r.startWorker(r.store, job.Config{}, noteKind.Handle(func(context.Context, note) error {
			runs++
			return nil
		}))
		t.Cleanup(r.end)
		seconds(1)
		if done, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel); err != nil || done.Changed != 1 {
			t.Fatal(done, err)
		}
		seconds(15)
		j := r.wantState(id, job.Canceled)
		if runs > 0 || j.Crashed != 1 || len(j.Failures) != 2 {
			t.Errorf("it was run %d times after it had been canceled, died %d, failures %+v", runs, j.Crashed, j.Failures)
		}
		r.wantEvents("canceled: the job was canceled")
	})
}

// TestActionsSuitViews: what is offered for a view is what is done to its jobs.
func TestActionsSuitViews(t *testing.T) {
	for _, s := range job.States() {
		waits := s == job.Queued || s == job.Scheduled || s == job.Retrying
		for _, test := range []struct {
			action job.Action
			want   bool
		}{
			{job.ActionRetry, s != job.Running},
			{job.ActionDelete, s != job.Running},
			{job.ActionCancel, waits || s == job.Running},
			{job.ActionDiscard, waits},
			{job.ActionMove("other"), waits},
			{job.ActionPriority(1), waits},
			{job.ActionRunAt(time.Now()), waits},
		} {
			if got := test.action.Suits(s); got != test.want {
				t.Errorf("%s suits jobs that are %s: %v, want %v", test.action, s, got, test.want)
			}
		}
	}
	if n := len(job.States()); n != 7 {
		t.Errorf("%d states", n)
	}
}
