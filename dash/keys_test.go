package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestKeysThatWait: the page of a queue shows the limit keys with the most queued jobs, how many of each run, and why no more do.
func TestKeysThatWait(t *testing.T) {
	s := memory.New()
	if err := s.SetLimits(t.Context(), "mail", job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, "mail.send", `{}`, 3, job.Queue("mail"), job.LimitKey("small"))
	enqueue(t, s, "mail.send", `{}`, 9, job.Queue("mail"), job.LimitKey("large"))
	enqueue(t, s, "mail.send", `{}`, 4, job.Queue("mail"))
	report(t, s, job.WorkerInfo{Name: "w", Queues: []string{"mail"}, Kinds: []string{"mail.send"}, Concurrency: 9})
	claim := job.Claim{Worker: "w", Session: 2, Queues: []job.QueueLimit{{Queue: "mail", Limit: 10}}, Limit: 10, Lease: time.Minute}
	if claimed, err := s.Claim(t.Context(), claim); err != nil || len(claimed.Jobs) != 6 {
		t.Fatalf("claimed %d jobs: %v", len(claimed.Jobs), err)
	}
	h := dash.New(dash.Config{Store: s})
	w := get(t, h, "/queue?name=mail")
	has(t, w, http.StatusOK, "Limit keys that wait", "The keys with most queued jobs.", `<td class="num" data-label="Queued">8</td><td class="num" data-label="Running">1</td>`,
		"1 of 1 job of key large runs", "1 of 1 job of key small runs")
	if body := w.Body.String(); strings.Index(body, ">large<") > strings.Index(body, ">small<") {
		t.Error("the key with fewer jobs comes first")
	}
	enqueue(t, s, "other", `{}`, 1)
	enqueue(t, s, "mail.send", `{}`, 2100, job.Queue("bulk"), job.LimitKey("many"))
	h = dash.New(dash.Config{Store: s}) // it has not cached anything yet
	has(t, get(t, h, "/queue?name=bulk"), http.StatusOK, "counted among the newest 500", "500+")
	has(t, get(t, h, "/queue?name=default"), http.StatusOK, "No queued job has a limit key.")
}

// A listing store records the limit of each List.
type listing struct {
	job.Store
	limits []int
}

func (s *listing) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	s.limits = append(s.limits, f.Limit)
	return s.Store.List(ctx, f)
}

// TestKeysAreReadWhereTheyMatter: hundreds of jobs are read only if the queue has limits for single keys, or one of its newest jobs has a key.
func TestKeysAreReadWhereTheyMatter(t *testing.T) {
	s := &listing{Store: memory.New()}
	if err := s.SetLimits(t.Context(), "limited", job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetKeyLimits(t.Context(), "paid", "large", job.KeyLimits{Running: 9}); err != nil {
		t.Fatal(err)
	}
	for _, queue := range []string{"limited", "paid", "plain", "keyed"} {
		enqueue(t, s, "mail.send", `{}`, 1, job.Queue(queue), job.LimitKey("old"))
		enqueue(t, s, "mail.send", `{}`, 30, job.Queue(queue))
	}
	enqueue(t, s, "mail.send", `{}`, 1, job.Queue("keyed"), job.LimitKey("new"))
	for queue, want := range map[string][]int{"limited": {501}, "paid": {501}, "plain": {21}, "keyed": {21, 501}} {
		s.limits = nil
		w := get(t, dash.New(dash.Config{Store: s}), "/queue?name="+queue)
		if has(t, w, http.StatusOK); !slices.Equal(s.limits, want) {
			t.Errorf("queue %s: lists of %v jobs, want %v", queue, s.limits, want)
		}
		if queue == "plain" {
			has(t, w, http.StatusOK, "None of the newest 20 queued jobs has a limit key.")
		} else {
			has(t, w, http.StatusOK, ">old<")
		}
	}
}

// TestKeyThatIsHeld: the page of the queue, and that of the job, show which discarded job holds the limit key.
func TestKeyThatIsHeld(t *testing.T) {
	s := memory.New()
	if err := s.SetLimits(t.Context(), "mail", job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}}); err != nil {
		t.Fatal(err)
	}
	report(t, s, job.WorkerInfo{Name: "w", Queues: []string{"mail"}, Kinds: []string{"mail.send"}, Concurrency: 9})
	first := enqueue(t, s, "mail.send", `{}`, 1, job.Queue("mail"), job.LimitKey("a"))[0]
	next := enqueue(t, s, "mail.send", `{}`, 1, job.Queue("mail"), job.LimitKey("a"))[0]
	settle(t, s, "mail", func(j *job.Job) { j.State = job.Discarded })
	h := dash.New(dash.Config{Store: s})
	why := "held by job " + first.ID.String() + " of its key, which was discarded: retry or delete it"
	has(t, get(t, h, "/queue?name=mail"), http.StatusOK, why, "a discarded job holds its limit key until it is retried or deleted")
	has(t, get(t, h, "/jobs/"+next.ID.String()), http.StatusOK, why)
}

// TestIdleQueues: a queue without unfinished jobs is listed if it has workers or finished jobs, and can be paused.
func TestIdleQueues(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail", `{}`, 1, job.Queue("done"))
	settle(t, s, "done", func(j *job.Job) { j.State = job.Completed })
	report(t, s, job.WorkerInfo{Name: "w", Queues: []string{"ready"}, Kinds: []string{"mail"}})
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/queues"), http.StatusOK, `name=done"`, `name=ready"`, ">idle<", "not >paused<")
	has(t, get(t, h, "/"), http.StatusOK, "No queue has unfinished jobs.")
	if w := post(t, h, "/queues", "action", "pause", "queue", "ready"); w.Code != http.StatusSeeOther {
		t.Errorf("pause: status %d", w.Code)
	}
	if queues, err := s.Queues(t.Context()); err != nil || len(queues) != 1 || queues[0].Name != "ready" || !queues[0].Paused {
		t.Errorf("queues %+v, %v", queues, err)
	}
	has(t, post(t, h, "/queues", "action", "pause", "queue", "redy"), http.StatusNotFound, "There is no queue")
}

// TestNoEmptyFields: the URL of a search has only the fields that are set, whatever the form sent.
func TestNoEmptyFields(t *testing.T) {
	h := dash.New(dash.Config{Store: memory.New(), Prefix: "/admin"})
	w := get(t, h, "/admin/jobs?kind=&queue=mail&args=&state=queued&state=running&worker=")
	if got := w.Header().Get("Location"); w.Code != http.StatusFound || got != "/admin/jobs?queue=mail&state=queued&state=running" {
		t.Errorf("status %d to %q", w.Code, got)
	}
	if w := get(t, h, "/admin/jobs?queue="); w.Header().Get("Location") != "/admin/jobs" {
		t.Errorf("status %d to %q", w.Code, w.Header().Get("Location"))
	}
	has(t, get(t, h, "/admin/jobs?queue=mail"), http.StatusOK)
}

// A countingStore counts reads of jobs, queues, workers and limits.
type countingStore struct {
	job.Store
	queues, workers, limits, lists int
}

func (s *countingStore) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	s.lists++
	return s.Store.List(ctx, f)
}

func (s *countingStore) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	s.queues++
	return s.Store.Queues(ctx)
}

func (s *countingStore) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	s.workers++
	return s.Store.Workers(ctx, names...)
}

func (s *countingStore) Limits(ctx context.Context, queue string, keys ...string) ([]job.LimitUse, error) {
	s.limits++
	return s.Store.Limits(ctx, queue, keys...)
}

// TestKeysReadOnce: the page of a queue reads queues and workers once, the limits of the queue once, and those of all keys once, however many it
// explains. It reads no job twice.
func TestKeysReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingStore{Store: memory.New()}
		if err := s.SetLimits(t.Context(), "mail", job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			enqueue(t, s, "mail.send", `{}`, 2, job.Queue("mail"), job.LimitKey(fmt.Sprint("key-", i)))
		}
		time.Sleep(time.Second)
		has(t, get(t, dash.New(dash.Config{Store: s}), "/queue?name=mail"), http.StatusOK, "no worker claims jobs of queue mail")
		if s.queues != 1 || s.workers != 1 || s.limits != 2 || s.lists != 1 {
			t.Errorf("asked %d times about queues, %d about workers, %d about limits, %d for jobs; want 1, 1, 2, 1", s.queues, s.workers, s.limits, s.lists)
		}
	})
}
