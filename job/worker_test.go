package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/retry"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

type note struct {
	Text string `json:"text"`
}

var noteKind = job.Define[note]("note")

var errFlaky = errors.New("flaky")

// A rig is a worker on a memory store, in a bubble, and the events that its observer received.
type rig struct {
	*testing.T
	ctx   context.Context
	store job.Store
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	events []string
}

// newRig starts a worker. The test ends by stopping it gracefully.
func newRig(t *testing.T, config job.Config, handlers ...job.Handler) *rig {
	t.Helper()
	r := newIdleRig(t)
	r.startWorker(r.store, config, handlers...)
	t.Cleanup(r.end)
	return r
}

// newIdleRig returns a rig without a worker.
func newIdleRig(t *testing.T) *rig {
	return &rig{T: t, ctx: t.Context(), store: memory.New(), ended: make(chan error, 1)}
}

func (r *rig) startWorker(store job.Store, config job.Config, handlers ...job.Handler) {
	config.Observe = r.observe
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	r.run(job.NewWorker(store, config, handlers...))
}

// run starts a worker that the test has created.
func (r *rig) run(w *job.Worker) {
	ctx, stop := context.WithCancel(r.ctx)
	r.stop = stop
	go func() { r.ended <- w.Run(ctx) }()
}

// must ends the test on an error.
func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) end() {
	r.stop()
	if err := <-r.ended; err != nil {
		r.Errorf("the worker ended with %v", err)
	}
	if err := r.store.Close(); err != nil {
		r.Errorf("Close: %v", err)
	}
}

func (r *rig) observe(e job.Event) {
	text := e.Kind.String()
	if e.Err != nil && e.Kind != job.StoreFailed {
		first, _, _ := strings.Cut(e.Err.Error(), "\n")
		text += ": " + first
	}
	if e.Delay > 0 {
		text += " again in " + e.Delay.String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, text)
}

// wantEvents compares the observed events, and forgets them.
func (r *rig) wantEvents(want ...string) {
	r.Helper()
	r.mu.Lock()
	got := r.events
	r.events = nil
	r.mu.Unlock()
	if !slices.Equal(got, want) {
		r.Errorf("events:\n  got  %q\n  want %q", got, want)
	}
}

func (r *rig) enqueue(opts ...job.EnqueueOption) job.ID {
	r.Helper()
	done, err := noteKind.Enqueue(r.ctx, r.store, note{"hello"}, opts...)
	if err != nil {
		r.Fatal(err)
	}
	return done.ID
}

func (r *rig) find(id job.ID) *job.Job {
	r.Helper()
	j, err := job.Find(r.ctx, r.store, id)
	if err != nil {
		r.Fatal(err)
	}
	return j
}

func (r *rig) wantState(id job.ID, want job.State) *job.Job {
	r.Helper()
	j := r.find(id)
	if j.State != want {
		r.Errorf("state %s, want %s; last error %q", j.State, want, j.LastError())
	}
	return j
}

// seconds lets time pass, in the bubble.
func seconds(n float64) {
	time.Sleep(time.Duration(n * float64(time.Second)))
	synctest.Wait()
}

func second(int, error) time.Duration { return time.Second }

func TestWorkerOutcomes(t *testing.T) {
	failing := func(err error) func(context.Context, note) error {
		return func(context.Context, note) error { return err }
	}
	tests := []struct {
		name      string
		fn        func(context.Context, note) error
		opts      []job.EnqueueOption
		state     job.State
		uncounted int
		error     string
		events    []string
	}{
		{
			name: "nil", fn: failing(nil), state: job.Completed,
			events: []string{"started", "completed"},
		},
		{
			name: "error", fn: failing(errFlaky), state: job.Queued, error: "flaky",
			events: []string{"started", "retried: flaky again in 1s"},
		},
		{
			name: "error at the last attempt", fn: failing(errFlaky), opts: []job.EnqueueOption{job.MaxAttempts(1)},
			state: job.Discarded, error: "flaky",
			events: []string{"started", "discarded: flaky"},
		},
		{
			name: "permanent", fn: failing(fmt.Errorf("no: %w", retry.Permanent(errFlaky))), state: job.Discarded, error: "no: flaky",
			events: []string{"started", "discarded: no: flaky"},
		},
		{
			name: "with a delay of its own", fn: failing(retry.After(errFlaky, time.Hour)), state: job.Queued, error: "flaky",
			events: []string{"started", "retried: flaky again in 1h0m0s"},
		},
		{
			name: "Cancel", fn: failing(fmt.Errorf("stop: %w", job.Cancel(errFlaky))), state: job.Canceled, error: "stop: flaky",
			events: []string{"started", "canceled: stop: flaky"},
		},
		{
			name: "Snooze", fn: failing(job.Snooze(time.Minute)), state: job.Queued, uncounted: 1,
			events: []string{"started", "snoozed again in 1m0s"},
		},
		{
			name:  "Snooze when its time is over",
			fn:    func(ctx context.Context, _ note) error { <-ctx.Done(); return job.Snooze(time.Minute) },
			state: job.Queued, uncounted: 1, events: []string{"started", "snoozed again in 1m0s"},
		},
		{
			name: "Throttled", fn: failing(fmt.Errorf("ask: %w", job.Throttled(errFlaky, time.Minute))), state: job.Queued, uncounted: 1,
			events: []string{"started", "snoozed: flaky again in 1m0s"},
		},
		{
			name: "Cancel of one that is throttled", fn: failing(fmt.Errorf("stop: %w", job.Cancel(job.Throttled(errFlaky, time.Minute)))), state: job.Canceled,
			error:  "stop: throttled for 1m0s: flaky",
			events: []string{"started", "canceled: stop: throttled for 1m0s: flaky"},
		},
		{
			name: "permanent around Snooze", fn: failing(retry.Permanent(job.Snooze(time.Minute))), state: job.Discarded, error: "again in 1m0s",
			events: []string{"started", "discarded: again in 1m0s"},
		},
		{
			name: "Throttled around permanent", fn: failing(job.Throttled(retry.Permanent(errFlaky), time.Minute)), state: job.Queued, uncounted: 1,
			events: []string{"started", "snoozed: flaky again in 1m0s"},
		},
		{
			name: "panic", fn: func(context.Context, note) error { panic("oh") }, state: job.Queued, error: "panic: oh",
			events: []string{"started", "retried: panic: oh again in 1s"},
		},
		{
			name: "panic with Snooze", fn: func(context.Context, note) error { panic(job.Snooze(time.Minute)) }, state: job.Queued, error: "panic: again in 1m0s",
			events: []string{"started", "retried: panic: again in 1m0s again in 1s"},
		},
		{
			name: "panic with Throttled in a task",
			fn: func(ctx context.Context, _ note) error {
				meanwhile.Go(ctx, func(context.Context) error { panic(job.Throttled(errFlaky, time.Minute)) })
				return nil
			},
			state: job.Queued, error: "panic: throttled for 1m0s: flaky",
		},
		{
			name: "errors in a circle", fn: failing(newCircle()), state: job.Queued, error: "circle",
			events: []string{"started", "retried: circle again in 1s"},
		},
		{
			name: "panic with Cancel", fn: func(context.Context, note) error { panic(job.Cancel(errFlaky)) }, state: job.Queued, error: "panic: flaky",
			events: []string{"started", "retried: panic: flaky again in 1s"},
		},
		{
			name: "timeout", fn: func(ctx context.Context, _ note) error { <-ctx.Done(); return ctx.Err() }, state: job.Queued,
			error:  "context deadline exceeded: the attempt took longer than its timeout",
			events: []string{"started", "retried: context deadline exceeded: the attempt took longer than its timeout again in 1s"},
		},
		{
			name: "a task of the handler fails", fn: func(ctx context.Context, _ note) error {
				meanwhile.Go(ctx, func(context.Context) error { return errFlaky }, meanwhile.Name("part"))
				return nil
			},
			state: job.Queued, error: "/part: flaky",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := job.Define[note]("note", job.Backoff(second), job.Timeout(100*time.Millisecond))
				r := newRig(t, job.Config{}, kind.Handle(test.fn))
				id := r.enqueue(test.opts...)
				seconds(0.5)
				j := r.wantState(id, test.state)
				if j.Attempt != 1 || j.Uncounted != test.uncounted {
					t.Errorf("attempt %d, uncounted %d; want 1, %d", j.Attempt, j.Uncounted, test.uncounted)
				}
				if got := j.LastError(); !strings.HasSuffix(got, test.error) || (got == "") != (test.error == "") {
					t.Errorf("error %q, want one that ends in %q", got, test.error)
				}
				if test.events != nil {
					r.wantEvents(test.events...)
				}
				if test.name == "panic" && !strings.Contains(j.Failures[0].Stack, "worker_test.go") {
					t.Errorf("the stack does not show where it happened:\n%s", j.Failures[0].Stack)
				}
			})
		})
	}
}

// A circle is an error that wraps itself through another one, so that errors.Is and errors.As never return.
type circle struct{ below error }

func newCircle() error {
	c := &circle{}
	c.below = fmt.Errorf("again: %w", c)
	return c
}

func (*circle) Error() string   { return "circle" }
func (c *circle) Unwrap() error { return c.below }

func TestWorkerRetriesUntilTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		begun := time.Now()
		kind := job.Define[note]("note", job.Backoff(func(n int, _ error) time.Duration { return time.Duration(n) * time.Minute }))
		r := newRig(t, job.Config{}, kind.Handle(func(context.Context, note) error {
			starts = append(starts, time.Since(begun).Round(time.Second))
			return errFlaky
		}))
		id := r.enqueue(job.MaxAttempts(4))
		seconds(3600)
		j := r.wantState(id, job.Discarded)
		if want := []time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute}; !slices.Equal(starts, want) {
			t.Errorf("started at %v, want %v", starts, want)
		}
		if len(j.Failures) != 4 || j.Failures[3].Attempt != 4 {
			t.Errorf("failures %+v, want four", j.Failures)
		}
	})
}

func TestWorkerRunsADelayedJobOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late time.Duration
		delay := time.Duration(testenv.Rounds(2, 36)) * time.Hour // the worker asks the store each second
		due := time.Now().Add(delay)
		r := newRig(t, job.Config{}, noteKind.Handle(func(context.Context, note) error {
			late = time.Since(due)
			return nil
		}))
		id := r.enqueue(job.In(delay))
		seconds(delay.Seconds() - 1)
		r.wantState(id, job.Queued)
		seconds(1)
		r.wantState(id, job.Completed)
		if late != 0 {
			t.Errorf("the job started %v late", late)
		}
	})
}

func TestWorkerKeepsResultProgressAndRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(job.LogHandler(slog.DiscardHandler))
		quiet := slog.New(job.LogHandler(slog.NewTextHandler(t.Output(), nil)))
		step := make(chan struct{})
		r := newRig(t, job.Config{}, job.HandleResult(noteKind, func(ctx context.Context, n note) (map[string]int, error) {
			job.Progress(ctx, 1, 3)
			quiet.With("a", 1).WithGroup("g").InfoContext(ctx, "half way", "b", "two words")
			log.InfoContext(ctx, "not enabled")
			<-step
			return map[string]int{"length": len(n.Text)}, nil
		}))
		id := r.enqueue()
		seconds(3)
		j := r.wantState(id, job.Running)
		if j.Progress == nil || j.Progress.Done != 1 || j.Progress.Total != 3 {
			t.Errorf("progress of the running job: %+v, want 1 of 3", j.Progress)
		}
		if len(j.Records) != 1 || j.Records[0].Message != "half way" || j.Records[0].Attrs != `a=1 g.b="two words"` {
			t.Errorf("records of the running job: %+v", j.Records)
		}
		close(step)
		seconds(0)
		j = r.wantState(id, job.Completed)
		if got := string(j.Result); got != `{"length":5}` {
			t.Errorf("result %s", got)
		}
		if j.Progress == nil || len(j.Records) != 1 {
			t.Errorf("the finished job has progress %v and records %v", j.Progress, j.Records)
		}
	})
}

// TestTasksOfAJobHaveItsAttrs: a log handler can read from the ctx which job it is.
func TestTasksOfAJobHaveItsAttrs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		r := newRig(t, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Run(ctx, func(ctx context.Context) error {
				got = fmt.Sprint(tasklog.Attrs(ctx))
				return nil
			})
		}))
		id := r.enqueue()
		seconds(0)
		j := r.wantState(id, job.Completed)
		if want := fmt.Sprintf("[job.id=%v job.kind=%s job.queue=%s job.attempt=1]", id, j.Kind, j.Queue); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestWorkerBoundsRecordsAndResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(job.LogHandler(slog.NewTextHandler(new(strings.Builder), nil)))
		r := newRig(t, job.Config{}, job.HandleResult(noteKind, func(ctx context.Context, _ note) (string, error) {
			for i := range 1000 {
				log.InfoContext(ctx, fmt.Sprint(i, strings.Repeat("x", 5000)))
			}
			return strings.Repeat("y", job.MaxResult), nil
		}))
		id := r.enqueue()
		seconds(0)
		j := r.wantState(id, job.Completed)
		size := 0
		for _, record := range j.Records {
			size += len(record.Message)
		}
		if n := len(j.Records); n == 0 || n > job.MaxRecords || size > 65<<10 || len(j.Records[0].Message) > 1<<10 {
			t.Errorf("%d records, %d bytes", n, size)
		}
		if j.Result != nil {
			t.Errorf("a result of %d bytes was kept", len(j.Result))
		}
		if last := j.Records[len(j.Records)-1]; !strings.Contains(last.Message, "result") {
			t.Errorf("the last record is %.40q: want one about the result", last.Message)
		}
	})
}

func TestWorkerObeysCancelFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := newRig(t, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		}))
		id := r.enqueue()
		seconds(10)
		if done, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel); err != nil || done.Changed != 1 {
			t.Fatalf("Apply: %+v, %v", done, err)
		}
		seconds(2)
		r.wantState(id, job.Canceled)
		if !errors.Is(cause, job.ErrCanceled) {
			t.Errorf("cause %v, want ErrCanceled", cause)
		}
	})
}

// TestCanceledHandlers: the handler decides the outcome of a canceled job, also with its own tasks, and the worker continues.
func TestCanceledHandlers(t *testing.T) {
	obeys := func(ctx context.Context) error { return meanwhile.Sleep(ctx, 3*time.Second) }
	const plain, reported = "context canceled: the job was canceled", "the job was canceled"
	for name, test := range map[string]struct {
		handler func(context.Context) error
		state   job.State
		err     string
	}{
		"obeys":             {obeys, job.Canceled, plain},
		"tells the cause":   {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, job.Canceled, reported},
		"fails by itself":   {func(ctx context.Context) error { <-ctx.Done(); return errFlaky }, job.Canceled, "flaky"},
		"ignores it":        {func(context.Context) error { time.Sleep(3 * time.Second); return nil }, job.Completed, ""},
		"is shielded":       {func(ctx context.Context) error { return meanwhile.Shield(ctx, 5*time.Second, obeys) }, job.Completed, ""},
		"leaves it to one":  {func(ctx context.Context) error { meanwhile.Go(ctx, obeys); return nil }, job.Canceled, plain},
		"has one behind it": {func(ctx context.Context) error { meanwhile.Go(ctx, obeys, meanwhile.InBackground()); return obeys(ctx) }, job.Canceled, plain},
		"derives a context": {func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}, job.Canceled, plain},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, job.Config{}, noteKind.Handle(func(ctx context.Context, n note) error {
				if n.Text == "next" {
					return nil
				}
				return test.handler(ctx)
			}))
			id := r.enqueue()
			seconds(0.5)
			if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel); err != nil {
				t.Fatal(err)
			}
			seconds(6)
			if j := r.find(id); j.State != test.state || j.LastError() != test.err {
				t.Errorf("a handler that %s: %s, %q; want %s, %q", name, j.State, j.LastError(), test.state, test.err)
			}
			next, err := noteKind.Enqueue(r.ctx, r.store, note{"next"})
			if err != nil {
				t.Fatal(err)
			}
			seconds(1)
			r.wantState(next.ID, job.Completed)
		})
	}
}

// TestCancelIsOfOneAttempt cancels jobs as they end. The jobs that run after them in the same slots are not affected.
func TestCancelIsOfOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 500
		var canceled, kept atomic.Int64
		r := newIdleRig(t)
		r.startWorker(r.store, job.Config{Concurrency: 4}, noteKind.Handle(func(ctx context.Context, n note) error {
			if n.Text == "cancel" {
				j, _ := job.FromContext(ctx)
				if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{j.ID}}, job.ActionCancel); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(rand.N(1500 * time.Millisecond)) // the worker receives it within a second
			switch cause := context.Cause(ctx); {
			case n.Text == "keep" && cause != nil:
				t.Errorf("a job that nobody has canceled was canceled: %v", cause)
			case n.Text == "keep":
				kept.Add(1)
			case cause != nil:
				canceled.Add(1)
			}
			return nil
		}))
		t.Cleanup(r.end)
		for range jobs / 2 {
			for _, text := range []string{"cancel", "keep"} {
				if _, err := noteKind.Enqueue(r.ctx, r.store, note{text}); err != nil {
					t.Fatal(err)
				}
			}
		}
		seconds(jobs)
		if n := kept.Load(); n != jobs/2 {
			t.Errorf("%d of %d jobs were kept", n, jobs/2)
		}
		if n := canceled.Load(); n < jobs/20 {
			t.Errorf("%d jobs were canceled while they ran: too few to be a test", n)
		}
	})
}

// TestCancelJustBeforeARetry: the worker has not received the request when the attempt fails, which would be retried.
func TestCancelJustBeforeARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(r.store, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error {
			j, _ := job.FromContext(ctx)
			if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{j.ID}}, job.ActionCancel); err != nil {
				t.Error(err)
			}
			return errors.New("not this time")
		}))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(1)
		if j := r.wantState(id, job.Canceled); j.LastError() != "not this time" {
			t.Errorf("got failure %q", j.LastError())
		}
	})
}

func TestWorkerStopsGracefully(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{Grace: 10 * time.Second}, noteKind.Handle(func(ctx context.Context, n note) error {
			return meanwhile.Sleep(ctx, 15*time.Second)
		}))
		first := r.enqueue()
		seconds(8)
		second := r.enqueue()
		seconds(1)
		r.stop()
		synctest.Wait()
		later := r.enqueue()
		seconds(6.5) // the first ends at 15 s
		r.wantState(first, job.Completed)
		r.wantState(second, job.Running)
		seconds(4) // the grace is over at 19 s
		if j := r.wantState(second, job.Queued); j.Used() != 0 || j.Attempt != 1 {
			t.Errorf("released with attempt %d, %d used; want 1, 0", j.Attempt, j.Used())
		}
		r.wantState(later, job.Queued)
		workers, err := r.store.Workers(r.ctx)
		if err != nil || len(workers) != 0 {
			t.Errorf("workers %v, %v: want none", workers, err)
		}
		r.wantEvents("started", "started", "completed",
			"released: "+context.Canceled.Error()+": "+job.ErrStopping.Error())
	})
}

func TestWorkerDiscardsAJobThatKillsItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, ctx: t.Context(), store: memory.New(), ended: make(chan error, 1)}
		id := r.enqueue(job.MaxAttempts(3))
		for i := range 3 { // workers that claim it and never renew their lease
			claim := job.Claim{Worker: fmt.Sprint("dead", i), Session: job.Session(i + 1), Queues: []job.QueueLimit{{Queue: "default", Limit: 1}}, Limit: 1, Lease: time.Second, Expired: true}
			if got, err := r.store.Claim(r.ctx, claim); err != nil || len(got.Jobs) != 1 {
				t.Fatalf("claim %d: %+v, %v", i, got, err)
			}
			seconds(1.1)
		}
		ran := false
		r.startWorker(r.store, job.Config{}, noteKind.Handle(func(context.Context, note) error { ran = true; return nil }))
		t.Cleanup(r.end)
		seconds(5)
		j := r.wantState(id, job.Discarded)
		if ran || j.Crashed != 3 || !strings.Contains(j.LastError(), "the process died 3 times") {
			t.Errorf("ran %v, crashed %d, error %q", ran, j.Crashed, j.LastError())
		}
	})
}

func TestWorkerThatLosesItsLeaseCannotSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		store := memory.New()
		cut := &cutOff{Store: store}
		r := &rig{T: t, ctx: t.Context(), store: store, ended: make(chan error, 1)}
		r.startWorker(cut, job.Config{Lease: 6 * time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
			if err := meanwhile.Sleep(ctx, time.Minute); err != nil {
				cause = context.Cause(ctx)
			}
			return nil // it reports success nevertheless
		}))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(1)
		cut.set(true)
		seconds(10)
		if !errors.Is(cause, job.ErrLeaseLost) {
			t.Errorf("cause %v, want ErrLeaseLost", cause)
		}
		r.wantState(id, job.Running) // nobody has claimed it again
		cut.set(false)
		seconds(30)
		if j := r.wantState(id, job.Running); j.Attempt < 2 || j.Crashed == 0 {
			t.Errorf("attempt %d, crashed %d: want another attempt", j.Attempt, j.Crashed)
		}
	})
}

// TestClaimThatTheStoreForgot: after a power failure the job is queued again, and may be claimed by the same worker with the same attempt. Then
// only its second run counts.
func TestClaimThatTheStoreForgot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		r := newIdleRig(t)
		store := &sessionStore{Store: r.store}
		r.startWorker(store, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error {
			err := meanwhile.Sleep(ctx, 10*time.Second)
			causes = append(causes, context.Cause(ctx))
			return err
		}))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(1)
		claimed := r.wantState(id, job.Running)
		store.forget(t, claimed)
		again := &job.Job{ID: id, Kind: claimed.Kind, Queue: claimed.Queue, Priority: claimed.Priority, MaxAttempts: claimed.MaxAttempts, Args: claimed.Args, State: job.Queued}
		if _, err := r.store.Insert(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], job.ErrLeaseLost) {
			t.Errorf("the first run ended with %v, want ErrLeaseLost", causes)
		}
		r.wantState(id, job.Running)
		seconds(11)
		if j := r.wantState(id, job.Completed); j.Attempt != 1 || len(causes) != 2 || causes[1] != nil {
			t.Errorf("attempt %d, causes %v: want the second run to complete it", j.Attempt, causes)
		}
	})
}

// A sessionStore records the session of its worker.
type sessionStore struct {
	job.Store
	session atomic.Int64
}

func (s *sessionStore) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	s.session.Store(int64(c.Session))
	return s.Store.Claim(ctx, c)
}

// forget deletes a running job, as if it had never existed.
func (s *sessionStore) forget(t *testing.T, running *job.Job) {
	t.Helper()
	ended := *running
	ended.State = job.Completed
	if lost, err := s.Settle(t.Context(), job.Session(s.session.Load()), job.Outcome{Job: &ended}); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	if _, err := s.Apply(t.Context(), job.Filter{IDs: []job.ID{running.ID}, Limit: 1}, job.ActionDelete); err != nil {
		t.Fatal(err)
	}
}

// cutOff is a store that its worker cannot reach for a while.
type cutOff struct {
	job.Store
	mu  sync.Mutex
	cut bool
}

func (c *cutOff) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

func (c *cutOff) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return errors.New("no route to the store")
	}
	return nil
}

func (c *cutOff) Claim(ctx context.Context, q job.Claim) (job.Claimed, error) {
	if err := c.err(); err != nil {
		return job.Claimed{}, err
	}
	return c.Store.Claim(ctx, q)
}

func (c *cutOff) Renew(ctx context.Context, q job.Renewal) (job.Renewed, error) {
	if err := c.err(); err != nil {
		return job.Renewed{}, err
	}
	return c.Store.Renew(ctx, q)
}

func (c *cutOff) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.Store.Settle(ctx, session, outcomes...)
}

func TestWorkerOutlivesTroubleWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		cut := &cutOff{Store: store}
		r := &rig{T: t, ctx: t.Context(), store: store, ended: make(chan error, 1)}
		r.startWorker(cut, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error { return meanwhile.Sleep(ctx, 2*time.Second) }))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(1)
		cut.set(true)
		seconds(10)
		r.wantState(id, job.Running)
		cut.set(false)
		seconds(5)
		if j := r.wantState(id, job.Completed); j.Attempt != 1 {
			t.Errorf("attempt %d, want the first to have counted", j.Attempt)
		}
	})
}

func TestWorkerLeavesUnknownKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- job.NewWorker(r.store, job.Config{}).Run(ctx) }()
		id := r.enqueue(job.MaxAttempts(1))
		seconds(600)
		if j := r.wantState(id, job.Queued); j.Attempt != 0 || len(j.Failures) != 0 {
			t.Errorf("claimed %d times, failures %+v, want it left alone", j.Attempt, j.Failures)
		}
		r.startWorker(r.store, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(1)
		r.wantState(id, job.Completed)
		stop()
		r.must(<-ended)
		r.end()
	})
}

func TestWorkerConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[string]int{}, map[string]int{}
		count := func(queue string, by int) {
			mu.Lock()
			defer mu.Unlock()
			running[queue] += by
			running["all"] += by
			most[queue] = max(most[queue], running[queue])
			most["all"] = max(most["all"], running["all"])
		}
		r := newRig(t, job.Config{
			Concurrency: 7,
			Queues:      []job.QueueConfig{{Name: "narrow", Concurrency: 2}, {Name: "wide"}},
		}, noteKind.Handle(func(ctx context.Context, _ note) error {
			j, _ := job.FromContext(ctx)
			count(j.Queue, 1)
			defer count(j.Queue, -1)
			return meanwhile.Sleep(ctx, 50*time.Millisecond)
		}))
		for range 100 {
			r.enqueue(job.Queue("narrow"))
			r.enqueue(job.Queue("wide"))
		}
		seconds(2.51) // 100 jobs, 2 at once, 50 ms each
		counts, err := r.store.Counts(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range counts {
			if c.State != job.Completed || c.N != 100 {
				t.Errorf("count %+v, want 100 completed", c)
			}
		}
		if most["narrow"] != 2 || most["wide"] > 7 || most["all"] != 7 {
			t.Errorf("at most %v at once, want narrow 2, all 7", most)
		}
	})
}

func TestWorkerHasNoFloorOfWorkersOverPollInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r := newRig(t, job.Config{Concurrency: 3, Poll: time.Hour}, noteKind.Handle(func(ctx context.Context, _ note) error {
			err := meanwhile.Sleep(ctx, 50*time.Millisecond)
			n.Add(1)
			return err
		}))
		for range 1000 {
			r.enqueue()
		}
		seconds(1.001)
		if n := n.Load(); n < 60 {
			t.Errorf("3 at once ran %d jobs of 50 ms in a second, want 60", n)
		}
	})
}

func TestWorkerQueueOrder(t *testing.T) {
	order := func(t *testing.T, queues ...job.QueueConfig) map[string]int {
		first := map[string]int{} // of 300 of each queue, which were among the first 300 to run
		synctest.Test(t, func(t *testing.T) {
			r := &rig{T: t, ctx: t.Context(), store: memory.New(), ended: make(chan error, 1)}
			for _, q := range queues {
				for range 300 {
					r.enqueue(job.Queue(q.Name))
				}
			}
			n := 0
			r.startWorker(r.store, job.Config{Concurrency: 1, Queues: queues}, noteKind.Handle(func(ctx context.Context, _ note) error {
				if n++; n <= 300 {
					j, _ := job.FromContext(ctx)
					first[j.Queue]++
				}
				return nil
			}))
			t.Cleanup(r.end)
			seconds(1)
		})
		return first
	}
	if got := order(t, job.QueueConfig{Name: "b"}, job.QueueConfig{Name: "a"}); got["b"] != 300 {
		t.Errorf("strict order: %v of the first 300, want all of b", got)
	}
	got := order(t, job.QueueConfig{Name: "a", Weight: 1}, job.QueueConfig{Name: "b", Weight: 4})
	if got["b"] < 200 || got["b"] > 280 { // 240 expected; six standard deviations are 42
		t.Errorf("weights 1 and 4: %v of the first 300, want about 60 and 240", got)
	}
}

func TestWorkerObeysPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		if err := r.store.Pause(r.ctx, "default", true); err != nil {
			t.Fatal(err)
		}
		id := r.enqueue()
		seconds(60)
		r.wantState(id, job.Queued)
		if err := r.store.Pause(r.ctx, "default", false); err != nil {
			t.Fatal(err)
		}
		seconds(2)
		r.wantState(id, job.Completed)
	})
}

func TestWorkerPrunes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{Retention: map[job.State]time.Duration{job.Completed: time.Hour, job.Discarded: -1}},
			noteKind.Handle(func(ctx context.Context, _ note) error {
				if j, _ := job.FromContext(ctx); j.MaxAttempts == 1 {
					return errFlaky
				}
				return nil
			}))
		completed, discarded := r.enqueue(), r.enqueue(job.MaxAttempts(1))
		seconds(3500)
		r.wantState(completed, job.Completed)
		seconds(200)
		if _, err := job.Find(r.ctx, r.store, completed); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("after its retention: %v, want ErrNotFound", err)
		}
		r.wantState(discarded, job.Discarded)
	})
}

func TestTwoWorkersTickEachCronOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ticks []time.Time
		config := func(name string) job.Config {
			return job.Config{
				Name: name,
				Crons: []job.Cron{{Name: "each minute", Spec: "* * * * *", Job: func(at time.Time) (*job.Job, error) {
					return noteKind.New(note{at.Format(time.RFC3339)})
				}}},
				Logger: slog.New(slog.DiscardHandler),
			}
		}
		c := config("one")
		c.Crons[0].Name = "each-minute"
		handler := noteKind.Handle(func(_ context.Context, n note) error {
			at, err := time.Parse(time.RFC3339, n.Text)
			mu.Lock()
			defer mu.Unlock()
			ticks = append(ticks, at)
			return err
		})
		r := newRig(t, c, handler)
		other := &rig{T: t, ctx: r.ctx, store: r.store, ended: make(chan error, 1)}
		c2 := c
		c2.Name = "two"
		other.startWorker(r.store, c2, handler)
		begun := time.Now()
		seconds(3600)
		other.stop()
		if err := <-other.ended; err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(ticks) != 60 {
			t.Errorf("%d ticks in an hour, want 60", len(ticks))
		}
		for i, at := range ticks {
			if want := begun.Truncate(time.Minute).Add(time.Duration(i+1) * time.Minute); !at.Equal(want) {
				t.Errorf("tick %d at %v, want %v", i, at, want)
				break
			}
		}
	})
}

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		wrap := func(name string) job.Middleware {
			return func(next job.HandlerFunc) job.HandlerFunc {
				return func(ctx context.Context, j *job.Job) error {
					calls = append(calls, name+" "+j.Kind)
					return next(ctx, j)
				}
			}
		}
		r := newRig(t, job.Config{Middleware: []job.Middleware{wrap("outer"), wrap("inner")}}, noteKind.Handle(func(context.Context, note) error {
			calls = append(calls, "handler")
			return nil
		}))
		r.enqueue()
		seconds(0)
		if want := []string{"outer note", "inner note", "handler"}; !slices.Equal(calls, want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
}

func TestCompleteInATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := ""
		var r *rig
		r = newRig(t, job.Config{}, job.Define[note]("note", job.Backoff(second)).Handle(func(ctx context.Context, _ note) error {
			switch mode {
			case "commit": // the memory store commits at once
				return job.Complete(ctx, r.store)
			default: // as a transaction that is not committed
				return job.Complete(ctx, nothing{})
			}
		}))
		id := r.enqueue()
		seconds(0.5)
		if j := r.wantState(id, job.Queued); !strings.Contains(j.LastError(), "the transaction was not committed") {
			t.Errorf("error %q", j.LastError())
		}
		mode = "commit"
		r.wantEvents("started", "retried: the handler called job.Complete and returned nil, but the transaction was not committed again in 1s")
		seconds(2)
		r.wantState(id, job.Completed)
		r.wantEvents("started", "completed")
	})
}

// TestAfterComplete: after Complete, the handler is not affected by the lease: the store no longer holds the job, as intended.
func TestAfterComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var cause error
		r = newRig(t, job.Config{Lease: 6 * time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
			job.Progress(ctx, 1, 2)
			if err := job.Complete(ctx, r.store); err != nil {
				return err
			}
			if meanwhile.Sleep(ctx, 20*time.Second) != nil {
				cause = context.Cause(ctx)
			}
			return nil
		}))
		id := r.enqueue()
		seconds(21.5)
		if cause != nil {
			t.Errorf("canceled: %v", cause)
		}
		r.wantState(id, job.Completed)
		r.wantEvents("started", "completed")
	})
}

// TestAfterCompleteTheSessionIsGivenUp: a handler that has completed its job goes on working while the worker cannot reach the store for longer than
// its lease. If the transaction was not committed, another attempt runs the job.
func TestAfterCompleteTheSessionIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		commit bool
		state  job.State
		events []string
	}{
		"committed":   {true, job.Completed, []string{"started", "completed"}},
		"rolled back": {false, job.Running, []string{"started", "lost: the lease of the job was lost: another worker may be running it", "started"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdleRig(t)
				cut := &cutOff{Store: r.store}
				var cause error
				var runs atomic.Int64
				r.startWorker(cut, job.Config{Lease: 6 * time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
					if runs.Add(1) > 1 {
						return untilCanceled(ctx)
					}
					var tx job.Settler = nothing{}
					if test.commit {
						tx = r.store
					}
					if err := job.Complete(ctx, tx); err != nil {
						return err
					}
					if meanwhile.Sleep(ctx, 20*time.Second) != nil {
						cause = context.Cause(ctx)
					}
					return nil
				}))
				t.Cleanup(r.end)
				id := r.enqueue()
				seconds(1)
				cut.set(true)
				seconds(12)
				cut.set(false)
				seconds(12)
				if canceled := cause != nil; canceled == test.commit {
					t.Errorf("canceled: %t (%v), want only if the next attempt begins", canceled, cause)
				}
				r.wantState(id, test.state)
				r.forgetStoreEvents()
				r.mu.Lock()
				slices.Sort(r.events)
				r.mu.Unlock()
				slices.Sort(test.events)
				r.wantEvents(test.events...)
				if n, want := r.completedJobs(), map[bool]int{true: 1}[test.commit]; n != want {
					t.Errorf("%d completed jobs are counted, want %d", n, want)
				}
			})
		})
	}
}

// nothing is a transaction that is rolled back.
type nothing struct{}

func (nothing) Settle(context.Context, job.Session, ...job.Outcome) ([]job.ID, error) {
	return nil, nil
}

func TestWorkerConfigErrors(t *testing.T) {
	handler := noteKind.Handle(func(context.Context, note) error { return nil })
	maker := noteKind.Maker(note{})
	tests := []struct {
		config   job.Config
		handlers []job.Handler
		want     string
	}{
		{handlers: []job.Handler{handler, handler}, want: `worker: two handlers for job kind "note": give one`},
		{config: job.Config{Concurrency: -1}, want: "worker: a concurrency of -1: give from 1 to 1000000"},
		{config: job.Config{Lease: time.Millisecond}, want: "worker: a lease of 1ms: give at least 100ms"},
		{config: job.Config{Queues: []job.QueueConfig{{Name: "a"}, {Name: "a"}}}, want: `worker: queue "a" is named twice`},
		{config: job.Config{Queues: []job.QueueConfig{{Name: "a b"}}}, want: `worker: the name of the queue has a space or a control character in it: "a b"`},
		{config: job.Config{Retention: map[job.State]time.Duration{job.Queued: 1}}, want: "worker: a retention for jobs that are queued: only those that have finished are pruned"},
		{config: job.Config{Crons: []job.Cron{{Name: "c", Spec: "* * * * *", Job: maker}, {Name: "c", Spec: "* * * * *", Job: maker}}}, want: `worker: two crons are named "c"`},
		{config: job.Config{Crons: []job.Cron{{Name: "c", Spec: "* * * * *"}}}, want: `worker: cron "c" has no Job: give a function that makes one, such as that of Kind.Maker`},
	}
	for _, test := range tests {
		err := job.NewWorker(memory.New(), test.config, test.handlers...).Run(t.Context())
		if err == nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

// An openTx is a transaction that locks the job that it has settled until it is committed: writes to the job wait for it.
type openTx struct {
	job.Store
	held   atomic.Pointer[job.ID]
	over   chan struct{} // closed when it has ended
	commit func(context.Context) error
}

func (o *openTx) tx() job.Settler { return settlerFunc(o.hold) }

type settlerFunc func(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error)

func (f settlerFunc) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	return f(ctx, session, outcomes...)
}

func (o *openTx) hold(_ context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	o.commit = func(ctx context.Context) error {
		_, err := o.Store.Settle(ctx, session, outcomes...)
		close(o.over)
		return err
	}
	o.held.Store(&outcomes[0].Job.ID)
	return nil, nil
}

func (o *openTx) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	held := o.held.Load()
	if held != nil && slices.ContainsFunc(outcomes, func(o job.Outcome) bool { return o.Job.ID == *held }) {
		select {
		case <-o.over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return o.Store.Settle(ctx, session, outcomes...)
}

// TestALongTransactionWithComplete: what a handler logs after Complete cannot be written before its transaction has ended. If the worker waited for
// that, the leases of all its other jobs would run out.
func TestALongTransactionWithComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		o := &openTx{Store: r.store, over: make(chan struct{})}
		var cause error
		r.startWorker(o, job.Config{Lease: 6 * time.Second}, noteKind.Handle(func(ctx context.Context, n note) error {
			if n.Text == "other" {
				if meanwhile.Sleep(ctx, 40*time.Second) != nil {
					cause = context.Cause(ctx)
				}
				return nil
			}
			if err := job.Complete(ctx, o.tx()); err != nil {
				return err
			}
			for range 20 {
				job.Progress(ctx, 1, 2)
				if err := meanwhile.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
			return o.commit(ctx)
		}))
		t.Cleanup(r.end)
		other, err := noteKind.Enqueue(t.Context(), r.store, note{"other"})
		if err != nil {
			t.Fatal(err)
		}
		seconds(2)
		id := r.enqueue()
		seconds(60)
		if cause != nil {
			t.Errorf("another job of the worker was canceled: %v", cause)
		}
		r.wantState(id, job.Completed)
		if j := r.wantState(other.ID, job.Completed); j.Attempt != 1 {
			t.Errorf("the other job was run %d times", j.Attempt)
		}
	})
}

// TestWorkerNames: Run refuses a name that some store cannot keep, before it asks the store for jobs again and again.
func TestWorkerNames(t *testing.T) {
	for _, name := range []string{"a\x00b", "a\nb", "a\xffb", strings.Repeat("w", 256)} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := job.NewWorker(memory.New(), job.Config{Name: name}).Run(ctx); err == nil || !strings.Contains(err.Error(), "name of the worker") {
			t.Errorf("Run with the name %.10q: %v", name, err)
		}
	}
}
