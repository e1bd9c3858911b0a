package docs_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

var Summarize = job.Define[string]("summarize", job.Queue("models"))

func TestLimitsOfTheGuide(t *testing.T) {
	ctx, store, doc := t.Context(), memory.New(), "text"
	func() {
		err := store.SetLimits(ctx, "models", job.Limits{
			Running: 200, // jobs that run at once, over all workers
			Starts:  job.Rate{N: 500, Per: time.Minute, Burst: 50},
			EachKey: job.KeyLimits{Running: 4, Starts: job.Rate{N: 60, Per: time.Minute}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}()
	_, err := Summarize.Enqueue(ctx, store, doc, job.LimitKey("tenant-7"))
	if err != nil {
		t.Fatal(err)
	}
	for j, err := range job.List(ctx, store, job.Filter{}) {
		if err != nil || j.LimitKey != "tenant-7" {
			t.Fatalf("the key is %q, %v", j.LimitKey, err)
		}
		why, err := job.Why(ctx, store, j.ID)
		if guide := readGuide(t, "limits.md"); err != nil || !strings.Contains(guide, why) {
			t.Errorf("the guide does not have %q, %v", why, err)
		}
	}
	err = store.SetLimits(ctx, "models", job.Limits{Running: -1})
	if guide := readGuide(t, "limits.md"); err == nil || !strings.Contains(guide, err.Error()) {
		t.Errorf("the guide does not have %q", err)
	}
}

// TestFirstLimitsOfTheGuide: a program sets limits where there are none, and leaves those of operators alone.
func TestFirstLimitsOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	start := func() error {
		uses, err := store.Limits(ctx, "models", "")
		if err != nil {
			return err
		}
		if uses[0].Limits == (job.Limits{}) { // the queue has none
			if err := store.SetLimits(ctx, "models", job.Limits{Running: 3}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, running := range []int{3, 7} {
		if err := start(); err != nil {
			t.Fatal(err)
		}
		if uses, err := store.Limits(ctx, "models", ""); err != nil || uses[0].Running != running {
			t.Errorf("limits %+v, %v; want %d running", uses, err, running)
		}
		if err := store.SetLimits(ctx, "models", job.Limits{Running: 7}); err != nil { // as an operator
			t.Fatal(err)
		}
	}
}

// TestLimitsOfOneKeyOfTheGuide: they hold, and the guide has the sentence of the key that has them.
func TestLimitsOfOneKeyOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	set := func() error {
		// 4 jobs of each customer run at once; of tenant-7 it is 20, and it gets three times the share.
		if err := store.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{Running: 4}}); err != nil {
			return err
		}
		if err := store.SetKeyLimits(ctx, "models", "tenant-7", job.KeyLimits{Running: 20, Weight: 3}); err != nil {
			return err
		}
		return nil
	}
	if err := set(); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		for _, key := range []string{"tenant-7", "tenant-8"} {
			if _, err := Summarize.Enqueue(ctx, store, "text", job.LimitKey(key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range []int{4, 40} {
		claim := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "models", Limit: n}}, Limit: n, Lease: time.Minute}
		if _, err := store.Claim(ctx, claim); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		keys := []string{"tenant-7", "tenant-8"}
		uses, err := store.Limits(ctx, "models", keys...)
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			got[key] = uses[i].KeyRunning
		}
		if want := map[int]map[string]int{4: {"tenant-7": 3, "tenant-8": 1}, 40: {"tenant-7": 20, "tenant-8": 4}}[n]; !maps.Equal(got, want) {
			t.Errorf("after a claim of %d, %v run, want %v", n, got, want)
		}
	}
	guide := readGuide(t, "limits.md")
	for _, want := range []string{"(its own limit)", job.ErrOverrides.Error()} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not have %q", want)
		}
	}
	if all, err := store.Overrides(ctx, "models", "", 100); err != nil || len(all) != 1 {
		t.Errorf("%d keys have limits of their own, %v", len(all), err)
	}
}

// TestUnitsOfTheGuide: what was spent counts.
func TestUnitsOfTheGuide(t *testing.T) {
	ctx, store, doc := t.Context(), memory.New(), strings.Repeat("text ", 80)
	type answer struct{ Tokens int }
	ask := func(context.Context, string) (answer, error) { return answer{180_000}, nil }
	handler := Summarize.Handle(func(ctx context.Context, text string) error {
		answer, err := ask(ctx, text)
		if spendErr := job.Spend(ctx, answer.Tokens); spendErr != nil {
			return spendErr
		}
		return err
	})
	worker := job.NewWorker(store, job.Config{Queues: []job.QueueConfig{{Name: "models"}}}, handler)
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		if err := store.SetLimits(ctx, "models", job.Limits{Units: job.Rate{N: 90_000, Per: time.Minute}}); err != nil {
			return err
		}
		enqueued, err := Summarize.Enqueue(ctx, store, doc, job.Cost(len(doc)/4))
		if err != nil {
			return err
		}
		meanwhile.Go(ctx, worker.Run, meanwhile.InBackground())
		if _, err := job.Await(ctx, store, enqueued.ID); err != nil {
			return err
		}
		uses, err := store.Limits(ctx, "models", "")
		if err != nil {
			return err
		}
		if next := uses[0].QueueUnits; next < time.Minute {
			t.Errorf("the next job starts in %v, want about two minutes", next)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInOrderOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	err := store.SetLimits(ctx, "accounts", job.Limits{EachKey: job.KeyLimits{InOrder: true}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHoldOnDiscardOfTheGuide: a discarded job holds its key, and the guide has the sentence that says so.
func TestHoldOnDiscardOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	func() {
		err := store.SetLimits(ctx, "accounts", job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}})
		if err != nil {
			t.Fatal(err)
		}
	}()
	Apply := job.Define[string]("apply", job.Queue("accounts"))
	var ids [2]job.ID
	for i := range ids {
		enqueued, err := Apply.Enqueue(ctx, store, "event", job.LimitKey("account-7"))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = enqueued.ID
	}
	if _, err := store.Apply(ctx, job.Filter{IDs: ids[:1], Limit: 1}, job.ActionDiscard); err != nil {
		t.Fatal(err)
	}
	worker := job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Queues: []string{"accounts"}, Kinds: []string{"apply"}, Concurrency: 1}}
	if _, err := store.Renew(ctx, worker); err != nil {
		t.Fatal(err)
	}
	why, err := job.Why(ctx, store, ids[1])
	why = strings.ReplaceAll(why, ids[0].String(), "01932c07-209b-7bcd-a3f1-0c5de4a3b1f9")
	if guide := readGuide(t, "limits.md"); err != nil || !strings.Contains(why, "held by") || !strings.Contains(guide, why) {
		t.Errorf("the guide does not have %q, %v", why, err)
	}
}

// A document of the guide.
type document struct {
	ID   string
	Text string
}

var Index = job.Define[document]("index")

// TestDebounceOfTheGuide: of many changes one job comes, with the last text.
func TestDebounceOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	for _, text := range []string{"a", "b", "c"} {
		doc := document{ID: "7", Text: text}
		_, err := Index.Enqueue(ctx, store, doc, job.Debounce(doc.ID, 10*time.Second, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for j, err := range job.List(ctx, store, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; string(j.Args) != `{"ID":"7","Text":"c"}` {
			t.Errorf("the args are %s", j.Args)
		}
	}
	if n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
}

// An answer of the API that jobs of the guide call.
type answer struct {
	Status     int
	RetryAfter time.Duration
}

func TestThrottledOfTheGuide(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	ask := func(context.Context, string) (answer, error) {
		return answer{http.StatusTooManyRequests, 30 * time.Second}, errors.New("429 Too Many Requests")
	}
	handler := Summarize.Handle(func(ctx context.Context, text string) error {
		answer, err := ask(ctx, text)
		if err != nil && answer.Status == http.StatusTooManyRequests {
			return job.Throttled(err, answer.RetryAfter)
		}
		return err
	})
	worker := job.NewWorker(store, job.Config{Queues: []job.QueueConfig{{Name: "models"}}}, handler)
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, worker.Run, meanwhile.InBackground())
		if _, err := Summarize.Enqueue(ctx, store, "text", job.LimitKey("tenant-7")); err != nil {
			return err
		}
		for {
			uses, err := store.Limits(ctx, "models", "tenant-7")
			if err != nil || uses[0].KeyHeld > 0 {
				return err
			}
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readGuide(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
