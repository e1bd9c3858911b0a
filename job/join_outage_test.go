package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// unreliablePart is one of the joined stores. While it is cut off, it does not answer pings either.
type unreliablePart struct{ *unreliable }

func (u unreliablePart) Ping(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Now().Before(u.cut) {
		return errInjected
	}
	return u.Store.Ping(ctx)
}

// TestAJoinedStoreDiesAndReturns: one of three stores does not answer for a minute. Acknowledged jobs are run, the other stores work, and errors,
// the log and Health name it.
func TestAJoinedStoreDiesAndReturns(t *testing.T) {
	var log bytes.Buffer
	var logged sync.Mutex
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(lockedWriter{&logged, &log}, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		ctx, stop := context.WithCancel(r.ctx)
		var mu sync.Mutex
		running, done := map[job.ID]int{}, map[job.ID]time.Time{}
		handler := noteKind.Handle(func(ctx context.Context, _ note) error {
			j, _ := job.FromContext(ctx)
			mu.Lock()
			if running[j.ID]++; running[j.ID] > 1 {
				t.Errorf("job %v runs twice at once", j.ID)
			}
			mu.Unlock()
			err := meanwhile.Sleep(ctx, 3*time.Second)
			mu.Lock()
			defer mu.Unlock()
			if running[j.ID]--; err == nil {
				done[j.ID] = time.Now()
			}
			return err
		})
		ended := make(chan error, 2)
		var workers []*job.Worker
		for range 2 {
			w := job.NewWorker(r.join(), job.Config{Lease: 12 * time.Second, Concurrency: 40, Logger: slog.New(slog.DiscardHandler)}, handler)
			workers = append(workers, w)
			go func() { ended <- w.Run(ctx) }()
		}
		enqueued := map[job.ID]time.Time{}
		insert := func(n int) {
			for range n {
				j := r.note(job.MaxAttempts(100))
				if _, err := r.joined.Insert(r.ctx, j); err == nil {
					enqueued[j.ID] = time.Now()
				} else if !strings.Contains(err.Error(), "store 2 of 3") {
					t.Errorf("insert: %v, want the name of the store", err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		insert(100)
		r.away[1].Store(true)
		cut := time.Now()
		insert(600)
		if trouble := workers[0].Health().Trouble; !strings.Contains(trouble, "store 2 of 3") || !strings.Contains(trouble, errInjected.Error()) {
			t.Errorf("Trouble of a worker = %q, want the store", trouble)
		}
		if h := r.joined.Health(); h[0].Err != nil || h[2].Err != nil || !errors.Is(h[1].Err, errInjected) || h[1].Since.Before(cut) {
			t.Errorf("health %+v", h)
		}
		r.must(r.joined.Ping(r.ctx))
		mu.Lock()
		for id, at := range enqueued {
			if at.After(cut) && time.Since(at) > 15*time.Second && done[id].IsZero() {
				t.Errorf("job %v, which was enqueued in the outage, has not run after %v", id, time.Since(at))
			}
		}
		mu.Unlock()
		if len(enqueued) < 695 {
			t.Errorf("%d of 700 inserts were acknowledged", len(enqueued))
		}
		r.away[1].Store(false)
		seconds(60)
		if h := r.joined.Health(); h[1].Err == nil {
			t.Error("the store counts as answering before it was called")
		}
		insert(30)
		if h := r.joined.Health()[1]; h.Err != nil || !h.Since.IsZero() {
			t.Errorf("health %+v after the store has answered", h)
		}
		seconds(30)
		if trouble := workers[0].Health().Trouble; trouble != "" {
			t.Errorf("Trouble of a worker = %q, want none", trouble)
		}
		stop()
		for range 2 {
			r.must(<-ended)
		}
		for id := range enqueued {
			if j, err := job.Find(r.ctx, r.joined, id); err != nil || j.State != job.Completed {
				t.Errorf("job %v: %+v, %v", id, j, err)
			}
		}
	})
	logged.Lock()
	defer logged.Unlock()
	for _, want := range []string{"does not answer; the others go on", "answers again", `store="store 2 of 3"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%.2000s", want, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n > 12 {
		t.Errorf("the log has %d lines of one outage in 3 programs:\n%.2000s", n, log.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// TestJobsAtADeadStoreAreLostBeforeTheirLeaseIsOver: only the jobs of that store are lost, and they are run again when it answers again.
func TestJobsAtADeadStoreAreLostBeforeTheirLeaseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		dead, alive := r.insertAt(1, job.MaxAttempts(9)), r.insertAt(0)
		ctx, stop := context.WithCancel(r.ctx)
		var mu sync.Mutex
		ends := map[job.ID]time.Duration{}
		var cut time.Time
		handler := noteKind.Handle(func(ctx context.Context, _ note) error {
			j, _ := job.FromContext(ctx)
			err := meanwhile.Sleep(ctx, 90*time.Second)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(context.Cause(ctx), job.ErrLeaseLost) {
				ends[j.ID] = time.Since(cut)
			}
			return err
		})
		w := job.NewWorker(r.join(), job.Config{Lease: 30 * time.Second, Logger: slog.New(slog.DiscardHandler)}, handler)
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		seconds(10)
		mu.Lock()
		cut = time.Now()
		mu.Unlock()
		r.away[1].Store(true)
		seconds(60)
		mu.Lock()
		if got := ends[dead.ID]; got < 5*time.Second || got > 30*time.Second {
			t.Errorf("the job of the dead store lost its lease %v after the cut, want within 30 s", got)
		}
		if _, lost := ends[alive.ID]; lost {
			t.Error("a job of another store lost its lease")
		}
		mu.Unlock()
		r.away[1].Store(false)
		seconds(130)
		if j, err := job.Find(r.ctx, r.joined, dead.ID); err != nil || j.State != job.Completed || j.Attempt != 2 {
			t.Errorf("job %+v, %v; want it completed by its second attempt", j, err)
		}
		if j, err := job.Find(r.ctx, r.joined, alive.ID); err != nil || j.State != job.Completed || j.Attempt != 1 {
			t.Errorf("job %+v, %v; want it completed by its first attempt", j, err)
		}
		stop()
		r.must(<-ended)
	})
}

// TestCallsThatOnlyADeadStoreCanAnswerNameIt: all other calls succeed.
func TestCallsThatOnlyADeadStoreCanAnswerNameIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		const dead = 1
		// Names that belong to the store that will not answer, and others.
		own := map[bool]map[string]string{true: {}, false: {}}
		for i := range 60 {
			name := fmt.Sprint("n", i)
			r.must(r.joined.SetLimits(r.ctx, name, job.Limits{Running: 1}))
			own[r.at(r.insert(r.joined, job.Queue(name)).ID) == dead]["queue"] = name
			own[r.at(r.insert(r.joined, job.Unique(name)).ID) == dead]["key"] = name + "x"
			tick := r.note()
			if _, err := r.joined.Tick(r.ctx, job.Tick{Cron: name, Spec: "s", At: time.Now(), Next: time.Now().Add(time.Hour), Job: tick}); err != nil {
				t.Fatal(err)
			}
			own[r.at(tick.ID) == dead]["cron"] = name
		}
		for i := range 60 { // keys that nobody holds yet
			name := fmt.Sprint("free", i)
			j := r.insert(r.joined, job.Unique(name))
			at := r.at(j.ID)
			if _, err := r.joined.Apply(r.ctx, job.Filter{IDs: []job.ID{j.ID}, Limit: 2}, job.ActionDelete); err != nil {
				t.Fatal(err)
			}
			own[at == dead]["key"] = name
		}
		held, other := r.insertAt(dead), r.insertAt(0)
		r.away[dead].Store(true)
		calls := func(of map[string]string, held *job.Job) map[string]error {
			insert := func(opts ...job.EnqueueOption) error { _, err := r.joined.Insert(r.ctx, r.note(opts...)); return err }
			_, tickErr := r.joined.Tick(r.ctx, job.Tick{Cron: of["cron"], Spec: "s", At: time.Now(), Next: time.Now().Add(time.Hour), Job: r.note()})
			_, findErr := job.Find(r.ctx, r.joined, held.ID)
			_, watchErr := r.joined.Watch(r.ctx, held.ID, time.Minute)
			_, applyErr := r.joined.Apply(r.ctx, job.Filter{IDs: []job.ID{held.ID}, Limit: 5}, job.ActionRetry)
			return map[string]error{
				"insert into a queue with limits": insert(job.Queue(of["queue"])),
				"insert with a unique key":        insert(job.Unique(of["key"])),
				"tick":                            tickErr, "pause a cron": r.joined.PauseCron(r.ctx, of["cron"], true), "find": findErr, "watch": watchErr, "apply": applyErr,
			}
		}
		for what, err := range calls(own[true], held) {
			if err == nil || !strings.Contains(err.Error(), "store 2 of 3") || !strings.Contains(err.Error(), errInjected.Error()) || errors.Is(err, job.ErrNotFound) {
				t.Errorf("%s at the dead store: %v, want its name and why", what, err)
			}
		}
		time.Sleep(time.Second)
		for what, err := range calls(own[false], other) {
			if err != nil {
				t.Errorf("%s at another store: %v", what, err)
			}
		}
		for range 30 {
			r.insert(r.joined) // goes elsewhere
		}
		jobs := r.claim(r.joined, 300, job.DefaultQueue)
		if len(jobs) < 31 {
			t.Errorf("claimed %d jobs, want those of the other stores", len(jobs))
		}
		for name, err := range map[string]error{
			"list": func() error { _, err := r.joined.List(r.ctx, job.Filter{Limit: 1}); return err }(), "pause": r.joined.Pause(r.ctx, "p", true),
			"limits": r.joined.SetLimits(r.ctx, "l", job.Limits{Running: 1}), "leave": r.joined.Leave(r.ctx, "w", 7),
			"limits of a key": r.joined.SetKeyLimits(r.ctx, "l", "k", job.KeyLimits{Running: 1}),
		} {
			if err == nil || !strings.Contains(err.Error(), "store 2 of 3") {
				t.Errorf("%s: %v, want the name of the store", name, err)
			}
		}
		if queues, err := r.stores[0].Queues(r.ctx); err != nil || !strings.Contains(fmt.Sprint(queues), "{p true") {
			t.Errorf("the queue is not paused at the others: %v, %v", queues, err)
		}
		for what, err := range map[string]error{
			"counts": func() error { _, err := r.joined.Counts(r.ctx); return err }(), "queues": func() error { _, err := r.joined.Queues(r.ctx); return err }(),
			"workers": func() error { _, err := r.joined.Workers(r.ctx); return err }(), "stats": func() error { _, err := r.joined.Stats(r.ctx, job.StatsFilter{}); return err }(),
			"crons":     func() error { _, err := r.joined.Crons(r.ctx); return err }(),
			"use":       func() error { _, err := r.joined.Limits(r.ctx, "q", ""); return err }(),
			"overrides": func() error { _, err := r.joined.Overrides(r.ctx, "l", "", 1); return err }(),
			"prune":     func() error { _, err := r.joined.Prune(r.ctx, nil, 10); return err }(),
		} {
			if err != nil {
				t.Errorf("%s of the others: %v", what, err)
			}
		}
		for i := range r.away {
			r.away[i].Store(true)
		}
		time.Sleep(time.Minute)
		if _, err := r.joined.Claim(r.ctx, job.Claim{Worker: "w", Session: 7, Limit: 1, Lease: time.Minute}); err == nil {
			t.Error("a claim succeeded, although no store answers")
		}
		if err := r.joined.Ping(r.ctx); err == nil {
			t.Error("a ping succeeded, although no store answers")
		}
		if _, err := r.joined.Wait(r.ctx, "q"); err == nil {
			t.Error("a wait succeeded, although no store answers")
		}
	})
}

// TestJoinedWorkersOnUnreliableStores injects faults between any two steps, separately at each of the stores.
func TestJoinedWorkersOnUnreliableStores(t *testing.T) {
	for seed := range uint64(testenv.Rounds(3, 8)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stores := []job.Store{memory.New(), memory.New(), memory.New()}
				testUnreliable(t, seed, job.Join(stores...), func(unreliably func(job.Store) *unreliable) job.Store {
					var parts []job.Store
					for _, s := range stores {
						parts = append(parts, unreliablePart{unreliably(s)})
					}
					return job.Join(parts...)
				})
			})
		})
	}
}

// TestAJoinedClaimWithoutAnAnswer: jobs of a claim whose answer was lost are returned by a later claim, and use no attempt.
func TestAJoinedClaimWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		var ids []job.ID
		for i := range r.stores {
			for range 10 {
				ids = append(ids, r.insertAt(i).ID)
			}
		}
		var parts []job.Store
		for i := range r.stores {
			parts = append(parts, jobtest.Faulty(r.stores[i], func(c jobtest.Call) jobtest.Fault {
				if c.Method == "Claim" && i > 0 && c.N%4 != 0 {
					return jobtest.Fault{After: errInjected}
				}
				return jobtest.Fault{}
			}))
		}
		ctx, stop := context.WithCancel(r.ctx)
		w := job.NewWorker(job.Join(parts...), job.Config{Lease: time.Hour, Concurrency: 10, Logger: slog.New(slog.DiscardHandler)},
			noteKind.Handle(func(ctx context.Context, _ note) error { return meanwhile.Sleep(ctx, time.Second) }))
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		seconds(120)
		for _, id := range ids {
			if j, err := job.Find(r.ctx, r.joined, id); err != nil || j.State != job.Completed || j.Attempt != 1 || j.Crashed != 0 {
				t.Errorf("job %+v, %v; want it completed by attempt 1", j, err)
			}
		}
		stop()
		r.must(<-ended)
	})
}

// hung is a store whose calls do not return before their ctx ends.
type hung struct {
	job.Store
	off func() bool
}

func (h hung) wait(ctx context.Context) error {
	if h.off() {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (h hung) Ping(ctx context.Context) error { return errors.Join(h.wait(ctx), h.Store.Ping(ctx)) }

func (h hung) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	if err := h.wait(ctx); err != nil {
		return job.Claimed{}, err
	}
	return h.Store.Claim(ctx, c)
}

func (h hung) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if err := h.wait(ctx); err != nil {
		return job.Renewed{}, err
	}
	return h.Store.Renew(ctx, r)
}

func (h hung) Settle(ctx context.Context, s job.Session, o ...job.Outcome) ([]job.ID, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Settle(ctx, s, o...)
}

// TestAJoinedStoreThatHangs: the other stores are delayed once, by a few seconds.
func TestAJoinedStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		hangs := make(chan struct{})
		over := make(chan struct{})
		off := func() bool {
			select {
			case <-over:
				return true
			default:
			}
			select {
			case <-hangs:
				return false
			default:
				return true
			}
		}
		joined := job.Join(r.stores[0], hung{r.stores[1], off}, r.stores[2])
		ctx, stop := context.WithCancel(r.ctx)
		ended := make(chan error, 1)
		w := job.NewWorker(joined, job.Config{Logger: slog.New(slog.DiscardHandler)}, noteKind.Handle(func(ctx context.Context, _ note) error { return nil }))
		go func() { ended <- w.Run(ctx) }()
		seconds(5)
		close(hangs)
		late := r.insertAt(1)
		seconds(10)
		for i := range 60 {
			j := r.insertAt(i % 2 * 2)
			seconds(2.5)
			if got, err := job.Find(r.ctx, r.joined, j.ID); err != nil || got.State != job.Completed {
				t.Errorf("job %d after 2.5 s: %s, %v; want completed", i, got.State, err)
			}
		}
		close(over)
		seconds(10)
		if got, err := job.Find(r.ctx, r.joined, late.ID); err != nil || got.State != job.Completed {
			t.Errorf("the job of the store that hung is %s, %v", got.State, err)
		}
		stop()
		r.must(<-ended)
	})
}

// TestCronsGoOnWhileAnotherStoreIsDead: this is so even for a worker that starts during the outage.
func TestCronsGoOnWhileAnotherStoreIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		r.away[1].Store(true)
		var crons []job.Cron
		for i := range 12 {
			crons = append(crons, job.Cron{Name: fmt.Sprint("c", i), Spec: "@every 10s", Job: noteKind.Maker(note{"tick"})})
		}
		ctx, stop := context.WithCancel(r.ctx)
		ended := make(chan error, 1)
		w := job.NewWorker(r.join(), job.Config{Crons: crons, Logger: slog.New(slog.DiscardHandler)}, noteKind.Handle(func(context.Context, note) error { return nil }))
		go func() { ended <- w.Run(ctx) }()
		seconds(60.5)
		ticked := func() (owned [3]int, ticks [3]int) {
			for i, s := range r.stores {
				infos, err := s.Crons(r.ctx)
				r.must(err)
				jobs, err := s.List(r.ctx, job.Filter{Limit: 1000})
				r.must(err)
				owned[i], ticks[i] = len(infos), len(jobs)
			}
			return owned, ticks
		}
		owned, ticks := ticked()
		if owned[0] == 0 || owned[2] == 0 || owned[1] != 0 {
			t.Fatalf("crons by store: %v, want some at the two that answer", owned)
		}
		for _, i := range []int{0, 2} {
			if want := 6 * owned[i]; ticks[i] < want-owned[i] || ticks[i] > want {
				t.Errorf("store %d has %d ticks of %d crons in a minute", i+1, ticks[i], owned[i])
			}
		}
		r.away[1].Store(false)
		seconds(120)
		if owned, ticks := ticked(); owned[0]+owned[1]+owned[2] != 12 || ticks[1] < 8*owned[1] || ticks[1] > 12*owned[1] {
			t.Errorf("the stores have %v crons and %v ticks", owned, ticks)
		}
		stop()
		r.must(<-ended)
	})
}
