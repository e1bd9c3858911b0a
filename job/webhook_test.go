package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const hook = "https://example.com/finished"

// calls returns the bodies of the webhook calls that were enqueued.
func (r *rig) calls() (bodies []map[string]any) {
	r.Helper()
	for j, err := range job.List(r.ctx, r.store, job.Filter{Kinds: []string{"http.request"}}) {
		r.must(err)
		var call struct {
			Method, URL string
			JSON        map[string]any
			Sign        bool
		}
		r.must(json.Unmarshal(j.Args, &call))
		if call.Method != "POST" || call.URL != hook || !call.Sign || j.Queue != job.DefaultQueue || j.State != job.Queued {
			r.Errorf("the call is %+v in queue %s, %s", call, j.Queue, j.State)
		}
		bodies = append(bodies, call.JSON)
	}
	return bodies
}

func TestWebhookIsCalledOnce(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		state job.State // "" if it has not finished
	}{
		"completes":    {nil, job.Completed},
		"is discarded": {errFlaky, job.Discarded},
		"is canceled":  {job.Cancel(errFlaky), job.Canceled},
		"snoozes":      {job.Snooze(time.Hour), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := job.Config{Queues: []job.QueueConfig{{Name: "notes"}}}
				r := newRig(t, c, job.HandleRaw("note", func(_ context.Context, j *job.Job) error {
					j.Result = []byte(`{"n":1}`)
					return test.err
				}))
				id := r.enqueue(job.Queue("notes"), job.MaxAttempts(1), job.Webhook(hook), job.Meta("tenant", "7"))
				seconds(1)
				calls := r.calls()
				if test.state == "" {
					if len(calls) > 0 {
						t.Errorf("called %v for a job that has not finished", calls)
					}
					return
				}
				if len(calls) != 1 {
					t.Fatalf("%d calls, want 1", len(calls))
				}
				got := calls[0]
				if got["id"] != id.String() || got["state"] != string(test.state) || got["kind"] != "note" || got["queue"] != "notes" || got["attempt"] != 1.0 {
					t.Errorf("got call %v", got)
				}
				if meta := got["meta"].(map[string]any); len(meta) != 1 || meta["tenant"] != "7" {
					t.Errorf("the call has the meta %v", meta)
				}
				_, result := got["result"]
				text, _ := got["error"].(string)
				if completed := test.state == job.Completed; result != completed || strings.Contains(text, errFlaky.Error()) == completed {
					t.Errorf("the call has the result %v and the error %q", got["result"], text)
				}
			})
		})
	}
}

// TestWebhookAfterRetriesAndBesideThen: an attempt that fails and is retried makes no call. Follow-up jobs are enqueued besides the call.
func TestWebhookAfterRetriesAndBesideThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := job.Config{Queues: []job.QueueConfig{{Name: "notes"}}}
		r := newRig(t, c, job.Define[note]("note", job.Backoff(second)).Handle(func(ctx context.Context, _ note) error {
			if j, _ := job.FromContext(ctx); j.Attempt < 3 {
				return errFlaky
			}
			return next(ctx, "a", job.Queue("later"))
		}))
		r.enqueue(job.Queue("notes"), job.Webhook(hook))
		seconds(1.5)
		if calls := r.calls(); len(calls) > 0 {
			t.Errorf("called %v before the job has finished", calls)
		}
		seconds(5)
		if calls := r.calls(); len(calls) != 1 || calls[0]["attempt"] != 3.0 {
			t.Errorf("called %v, want once after the third attempt", calls)
		}
		if n := len(r.followers()); n != 1 {
			t.Errorf("got %d follow-up jobs, want 1", n)
		}
	})
}

// TestWebhookOfTheCanceledThatWasToRunAgain: the attempt ends before the worker knows of the cancellation, so that the worker would queue the job
// again.
func TestWebhookOfTheCanceledThatWasToRunAgain(t *testing.T) {
	for name, test := range map[string]struct {
		err   error // of the handler; nil if it runs until the worker stops
		event string
		error string
	}{
		"fails":       {errFlaky, "canceled: flaky", "flaky"},
		"snoozes":     {job.Snooze(time.Hour), "canceled: the job was canceled", "the job was canceled"},
		"is released": {nil, "canceled: the worker stops", "the job was canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdleRig(t)
				c := job.Config{Queues: []job.QueueConfig{{Name: "notes"}}, Grace: time.Nanosecond}
				r.startWorker(r.store, c, job.HandleRaw("note", func(ctx context.Context, j *job.Job) error {
					if test.err == nil {
						<-ctx.Done()
					}
					if _, err := job.Apply(context.WithoutCancel(ctx), r.store, job.Filter{IDs: []job.ID{j.ID}}, job.ActionCancel); err != nil {
						t.Error(err)
					}
					if test.err == nil {
						return errors.New("the worker stops")
					}
					return test.err
				}))
				id := r.enqueue(job.Queue("notes"), job.Webhook(hook))
				seconds(0.1)
				r.stop()
				r.must(<-r.ended)
				r.wantEvents("started", test.event)
				j := r.wantState(id, job.Canceled)
				if calls := r.calls(); len(calls) != 1 || calls[0]["state"] != "canceled" || calls[0]["error"] != test.error || j.LastError() != test.error {
					t.Errorf("called %v, want once, for a canceled job with the error %q; it has %q", calls, test.error, j.LastError())
				}
				stats, err := r.store.Stats(r.ctx, job.StatsFilter{})
				r.must(err)
				var canceled, others uint64
				for _, s := range stats {
					canceled, others = canceled+uint64(s.Canceled), others+uint64(s.Retried)+uint64(s.Snoozed)
				}
				if canceled != 1 || others != 0 {
					t.Errorf("counted %d canceled jobs, and %d retried or snoozed; want 1 and 0", canceled, others)
				}
			})
		})
	}
}

// lateCancel is a store where a job is canceled right before its outcome is written.
type lateCancel struct {
	job.Store
	done bool
}

func (l *lateCancel) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if !l.done {
		l.done = true
		if _, err := job.Apply(ctx, l.Store, job.Filter{IDs: []job.ID{outcomes[0].Job.ID}}, job.ActionCancel); err != nil {
			return nil, err
		}
	}
	return l.Store.Settle(ctx, session, outcomes...)
}

func TestClaimerCancelsInsteadOfQueueing(t *testing.T) {
	for name, end := range map[string]func(c *job.Claimer, got job.Fetched) error{
		"Finish": func(c *job.Claimer, got job.Fetched) error {
			lost, err := c.Finish(t.Context(), job.End{Session: got.Session, ID: got.Jobs[0].ID, Attempt: 1, Err: errFlaky})
			if len(lost) > 0 {
				err = errors.New("lost")
			}
			return err
		},
		"Release": func(c *job.Claimer, got job.Fetched) error { return c.Release(t.Context(), got) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newIdleRig(t)
			c := job.NewClaimer(&lateCancel{Store: r.store})
			id := r.enqueue(job.Queue("notes"), job.Webhook(hook))
			got, err := c.Fetch(r.ctx, job.Fetch{Worker: "w", Queues: []string{"notes"}})
			r.must(err)
			r.must(end(c, got))
			r.wantState(id, job.Canceled)
			if calls := r.calls(); len(calls) != 1 || calls[0]["state"] != "canceled" {
				t.Errorf("called %v, want once", calls)
			}
		})
	}
}

func TestWebhookOfComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r = newRig(t, job.Config{Queues: []job.QueueConfig{{Name: "notes"}}}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return job.Complete(ctx, r.store)
		}))
		r.enqueue(job.Queue("notes"), job.Webhook(hook))
		seconds(1)
		if calls := r.calls(); len(calls) != 1 || calls[0]["state"] != "completed" {
			t.Errorf("called %v, want once", calls)
		}
	})
}

func TestWebhookOfClaimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.enqueue(job.Webhook(hook))
		end := c.fetchOne()
		end.Result = []byte(`7`)
		c.finish(end)
		if calls := c.calls(); len(calls) != 1 || calls[0]["result"] != 7.0 {
			t.Errorf("called %v, want once", calls)
		}
	})
}

// TestWebhookOfTheLost: a job whose last attempt ended with its process is discarded by the next claim, which also enqueues the call.
func TestWebhookOfTheLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		id := c.enqueue(job.Webhook(hook), job.MaxAttempts(1))
		c.fetchOne()
		seconds(60)
		if got := c.fetch(job.Fetch{}); len(got.Jobs) > 0 {
			for _, j := range got.Jobs {
				if j.ID == id {
					t.Errorf("fetched %v, which is out of attempts", j.ID)
				}
			}
		}
		if calls := c.calls(); len(calls) != 1 || calls[0]["state"] != "discarded" {
			t.Errorf("called %v, want once", calls)
		}
	})
}

func TestWebhookRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"example.com/finished":                 "not a URL such as",
		"ftp://example.com":                    "not a URL such as",
		"http://":                              "not a URL such as",
		"https://u:secret@a.com":               "a user or a password",
		"https://a.com/\x00":                   "not a URL such as",
		"":                                     "not a URL such as",
		"https://" + strings.Repeat("a", 2000): "at most 2000",
	} {
		_, err := job.New("note", []byte(`{}`), job.Webhook(address))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %v, want %q", address, err, want)
		}
	}
}
