package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A life is a job in a store, whose transitions are watched.
type life struct {
	*testing.T
	store *memory.Store
	id    job.ID
}

var (
	Probe     = job.Define[string]("probe", job.Timeout(time.Hour))
	ProbeOnce = job.Define[string]("probe", job.AtMostOnce())
)

// gone is what the table says where there is no job.
const gone = "–"

// now returns the state that the job is shown in, and how many attempts it has used.
func (l *life) now() (state string, used int) {
	l.Helper()
	j, err := job.Find(l.Context(), l.store, l.id)
	if errors.Is(err, job.ErrNotFound) {
		return gone, 0
	}
	if err != nil {
		l.Fatal(err)
	}
	return string(j.View(time.Now())), j.Used()
}

func (l *life) enqueue(opts ...job.EnqueueOption) {
	l.Helper()
	done, err := Probe.Enqueue(l.Context(), l.store, "args", opts...)
	if err != nil {
		l.Fatal(err)
	}
	l.id = done.ID
}

// work runs a worker for some time, whose handler does what fn says.
func (l *life) work(d time.Duration, fn func(ctx context.Context) error) {
	l.Helper()
	handler := Probe.Handle(func(ctx context.Context, _ string) error { return fn(ctx) })
	runFor(l.T, l.store, d, job.Config{Grace: -1}, handler)
}

// claim claims the job as a worker would that dies right after.
func (l *life) claim() {
	l.Helper()
	got, err := l.store.Claim(l.Context(), job.Claim{
		Worker: "dead", Session: job.NewSession(), Limit: 1, Lease: time.Second, Expired: true,
		Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}},
	})
	if err != nil || len(got.Jobs) != 1 {
		l.Fatalf("claimed %d jobs, error %v; want one", len(got.Jobs), err)
	}
}

func (l *life) apply(action job.Action) {
	l.Helper()
	result, err := job.Apply(l.Context(), l.store, job.Filter{IDs: []job.ID{l.id}}, action)
	if err != nil || result.Changed != 1 {
		l.Fatalf("changed %d jobs, error %v; want one", result.Changed, err)
	}
}

func wait(ctx context.Context) error { return meanwhile.Sleep(ctx, 100*time.Hour) }

func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// A transition is a way to bring a job into the state where a row of the table begins, and then along it. What comes between
// the two calls of mark is the transition.
type transition func(l *life, mark func())

// moment is longer than a worker takes for what is due, and shorter than a backoff.
const moment = 100 * time.Millisecond

var transitions = map[string]transition{
	"it is enqueued": func(l *life, mark func()) {
		mark()
		l.enqueue()
		mark()
	},
	"it is enqueued with `In` or `At`": func(l *life, mark func()) {
		mark()
		l.enqueue(job.In(time.Hour))
		mark()
	},
	"its time comes: nothing has to be done for it": func(l *life, mark func()) {
		l.enqueue(job.In(time.Hour))
		mark()
		time.Sleep(time.Hour)
		mark()
	},
	"a worker claims it": func(l *life, mark func()) {
		l.enqueue()
		mark()
		l.work(moment, func(ctx context.Context) error { mark(); return nil })
	},
	"its handler returns nil": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); return nil })
		mark()
	},
	"its handler calls `Complete`, and that transaction commits": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(ctx context.Context) error {
			mark()
			if err := job.Complete(ctx, l.store); err != nil { // the memory store has no transactions: each call is one
				return err
			}
			mark()
			return errors.New("which comes too late")
		})
	},
	"its handler returns an error, and attempts are left": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); return errNotFound })
		mark()
	},
	"its handler panics, and attempts are left": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); panic("no limits are set") })
		mark()
	},
	"its attempt takes longer than its `Timeout`, and attempts are left": func(l *life, mark func()) {
		l.enqueue()
		l.work(time.Hour+moment, func(ctx context.Context) error {
			mark()
			err := wait(ctx)
			if cause := context.Cause(ctx); cause != job.ErrTimeout {
				l.Errorf("the cause is %v, want %v", cause, job.ErrTimeout)
			}
			return err
		})
		mark()
	},
	"its backoff is over, and a worker claims it": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, returns(errNotFound))
		mark()
		l.work(time.Minute, func(context.Context) error { mark(); return nil })
	},
	"its handler returns an error in the last attempt": func(l *life, mark func()) {
		l.enqueue(job.MaxAttempts(1))
		l.work(moment, func(context.Context) error { mark(); return errNotFound })
		mark()
	},
	"its handler returns an error marked `retry.Permanent`": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); return retry.Permanent(errNotFound) })
		mark()
	},
	"its handler returns `Cancel`": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); return job.Cancel(errNotFound) })
		mark()
	},
	"its handler returns `Snooze`": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(context.Context) error { mark(); return job.Snooze(time.Hour) })
		mark()
	},
	"its worker stops before it has ended, and releases it": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, func(ctx context.Context) error {
			mark()
			err := wait(ctx)
			if cause := context.Cause(ctx); cause != job.ErrStopping {
				l.Errorf("the cause is %v, want %v", cause, job.ErrStopping)
			}
			return err
		})
		mark()
	},
	"its worker stops before it has ended, for the 21st time, and attempts are left": func(l *life, mark func()) {
		l.enqueue()
		for n := range 21 {
			l.work(moment, func(ctx context.Context) error {
				if n == 20 {
					mark()
				}
				return wait(ctx)
			})
		}
		mark()
	},
	"its worker stops before it has ended, and its kind is `AtMostOnce`": func(l *life, mark func()) {
		l.enqueue()
		runFor(l.T, l.store, moment, job.Config{Grace: -1}, ProbeOnce.Handle(func(ctx context.Context, _ string) error {
			mark()
			return wait(ctx)
		}))
		mark()
	},
	"it is canceled from outside, and its handler stops": func(l *life, mark func()) {
		l.enqueue()
		l.work(time.Minute, func(ctx context.Context) error {
			mark()
			l.apply(job.ActionCancel)
			start := time.Now()
			err := wait(ctx)
			if took := time.Since(start); took > 2*time.Second || context.Cause(ctx) != job.ErrCanceled {
				l.Errorf("canceled after %v, cause %v", took, context.Cause(ctx))
			}
			return err
		})
		mark()
	},
	"its process dies: the lease runs out, and another worker claims it": func(l *life, mark func()) {
		l.enqueue()
		l.claim()
		mark()
		l.work(time.Minute, func(context.Context) error { mark(); return nil })
	},
	"its process dies in the last attempt: the lease runs out, and a claim finds it": func(l *life, mark func()) {
		l.enqueue(job.MaxAttempts(1))
		l.claim()
		mark()
		l.work(time.Minute, func(context.Context) error { l.Error("a second attempt began"); return nil })
		mark()
	},
	"its retention is over": func(l *life, mark func()) {
		l.enqueue()
		l.work(moment, returns(nil))
		mark()
		time.Sleep(24 * time.Hour)
		l.work(2*time.Minute, returns(nil))
		mark()
	},
}

// TestTransitions goes along each row of the table of states in jobs.md with a real worker, and compares.
func TestTransitions(t *testing.T) {
	rows := table(t, "jobs.md", "| from | to | when | attempts used |")
	if len(rows) != len(transitions) {
		t.Errorf("the table has %d rows, the test %d", len(rows), len(transitions))
	}
	for _, row := range rows {
		from, to, when, used := row[0], row[1], row[2], row[3]
		t.Run(when, func(t *testing.T) {
			drive := transitions[when]
			if drive == nil {
				t.Fatal("the test does not know this row")
			}
			synctest.Test(t, func(t *testing.T) {
				l := &life{T: t, store: memory.New()}
				defer l.store.Close()
				type sight struct {
					state string
					used  int
				}
				var seen []sight
				drive(l, func() {
					state, used := l.now()
					seen = append(seen, sight{state, used})
				})
				if len(seen) != 2 {
					t.Fatalf("seen %v: want the states before and after", seen)
				}
				if seen[0].state != from || seen[1].state != to {
					t.Errorf("from %s to %s, the table says from %s to %s", seen[0].state, seen[1].state, from, to)
				}
				got := fmt.Sprintf("%+d", seen[1].used-seen[0].used)
				if used == "" || used == "0" && got == "+0" {
					return // there is no job before, or after
				}
				if got != used {
					t.Errorf("attempts used: %s, the table says %s", got, used)
				}
			})
		})
	}
}

// TestActions does each action of the table of actions in jobs.md to a job in each state, and compares.
func TestActions(t *testing.T) {
	later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	actions := map[string]job.Action{
		"`ActionRetry`":       job.ActionRetry,
		"`ActionCancel`":      job.ActionCancel,
		"`ActionDiscard`":     job.ActionDiscard,
		"`ActionRestore`":     job.ActionRestore,
		"`ActionMove(queue)`": job.ActionMove("other"),
		"`ActionPriority(p)`": job.ActionPriority(9),
		"`ActionRunAt(t)`":    job.ActionRunAt(later),
		"`ActionDelete`":      job.ActionDelete,
	}
	into := map[string]func(l *life){ // a job in each state
		"queued":    func(*life) {},
		"running":   (*life).claim,
		"completed": func(l *life) { l.work(moment, returns(nil)) },
		"canceled":  func(l *life) { l.work(moment, returns(job.Cancel(nil))) },
		"discarded": func(l *life) { l.work(moment, returns(retry.Permanent(errNotFound))) },
	}
	states := []string{"queued", "running", "completed", "canceled", "discarded"}
	rows := table(t, "jobs.md", "| action | "+strings.Join(states, " | ")+" |")
	if len(rows) != len(actions) {
		t.Errorf("the table has %d rows, the test %d", len(rows), len(actions))
	}
	for _, row := range rows {
		action, ok := actions[row[0]]
		if !ok {
			t.Errorf("the test does not know the action %s", row[0])
			continue
		}
		for i, state := range states {
			t.Run(action.String()+" "+state, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &life{T: t, store: memory.New()}
					defer l.store.Close()
					l.enqueue()
					into[state](l)
					result, err := job.Apply(t.Context(), l.store, job.Filter{IDs: []job.ID{l.id}}, action)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := l.after(state, result), row[i+1]; got != want {
						t.Errorf("the job is %s, the table says %s", got, want)
					}
				})
			})
		}
	}
}

// after says what an action did, in the words of the table.
func (l *life) after(before string, result job.ActionResult) string {
	l.Helper()
	state, _ := l.now()
	switch {
	case result.Skipped == 1 && state == before:
		return gone
	case result.Changed == 1 && state == gone:
		return "deleted"
	case result.Changed == 1 && state == "running" && findJob(l.T, l.store, l.id).CancelRequested:
		return "cancel requested"
	case result.Changed == 1:
		return state
	}
	return fmt.Sprintf("%s, and the counts are %+v", state, result)
}
