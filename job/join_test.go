package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestJoinedStores(t *testing.T) {
	t.Parallel()
	jobtest.TestStoreInBubble(t, func(*testing.T) job.Store { return job.Join(memory.New(), memory.New(), memory.New()) },
		jobtest.OrderInParts, jobtest.CallsInParts, jobtest.UniqueInParts, jobtest.LimitsFirst, jobtest.ThrottleInParts, jobtest.SessionsInParts)
}

// TestOneJoinedStore: a single joined store fulfills the whole contract.
func TestOneJoinedStore(t *testing.T) {
	jobtest.TestStoreInBubble(t, func(*testing.T) job.Store { return job.Join(memory.New()) })
}

// A trio is three joined memory stores. Each can be cut off.
type trio struct {
	*testing.T
	ctx    context.Context
	stores [3]*memory.Store
	away   [3]atomic.Bool
	joined *job.Joined
}

func newTrio(t *testing.T) *trio {
	r := &trio{T: t, ctx: t.Context()}
	for i := range r.stores {
		r.stores[i] = memory.New()
	}
	r.joined = r.join()
	return r
}

// join joins the same stores again, as another program does.
func (r *trio) join() *job.Joined {
	var parts []job.Store
	for i := range r.stores {
		parts = append(parts, jobtest.Faulty(r.stores[i], func(jobtest.Call) jobtest.Fault {
			if r.away[i].Load() {
				return jobtest.Fault{Before: errInjected}
			}
			return jobtest.Fault{}
		}))
	}
	return job.Join(parts...)
}

func (r *trio) insert(s job.Store, opts ...job.EnqueueOption) *job.Job {
	r.Helper()
	j := r.note(opts...)
	if ids, err := s.Insert(r.ctx, j); err != nil || ids[0] != j.ID {
		r.Fatalf("insert: %v, %v; want %v", ids, err, j.ID)
	}
	return j
}

func (r *trio) note(opts ...job.EnqueueOption) *job.Job {
	r.Helper()
	j, err := noteKind.New(note{"hello"}, opts...)
	if err != nil {
		r.Fatal(err)
	}
	return j
}

// at returns the index of the store that has a job.
func (r *trio) at(id job.ID) int {
	r.Helper()
	found := -1
	for i, s := range r.stores {
		switch _, err := job.Find(r.ctx, s, id); {
		case err == nil && found >= 0:
			r.Fatalf("job %v is at store %d and at store %d", id, found+1, i+1)
		case err == nil:
			found = i
		case !errors.Is(err, job.ErrNotFound):
			r.Fatal(err)
		}
	}
	if found < 0 {
		r.Fatalf("job %v is at no store", id)
	}
	return found
}

// insertAt inserts a job without keys at a store.
func (r *trio) insertAt(store int, opts ...job.EnqueueOption) *job.Job {
	r.Helper()
	return r.insert(r.stores[store], opts...)
}

func (r *trio) claim(s job.Store, limit int, queues ...string) []*job.Job {
	r.Helper()
	c := job.Claim{Worker: "w", Session: 7, Limit: limit, Lease: time.Minute}
	for _, q := range queues {
		c.Queues = append(c.Queues, job.QueueLimit{Queue: q, Limit: limit})
	}
	got, err := s.Claim(r.ctx, c)
	if err != nil {
		r.Fatal(err)
	}
	return got.Jobs
}

func (r *trio) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func TestJoinOfNothingPanics(t *testing.T) {
	for _, stores := range [][]job.Store{nil, {memory.New(), nil}} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.HasPrefix(fmt.Sprint(v), "job.Join: ") {
					t.Errorf("join of %d stores: %v", len(stores), v)
				}
			}()
			job.Join(stores...)
		}()
	}
}

// TestJoinedPlaces: jobs that belong together are at one store, even if another program inserts them.
func TestJoinedPlaces(t *testing.T) {
	r := newTrio(t)
	other := r.join()
	same := func(what string, opts ...job.EnqueueOption) int {
		t.Helper()
		first := r.at(r.insert(r.joined, opts...).ID)
		for range 20 {
			if got := r.at(r.insert(other, opts...).ID); got != first {
				t.Fatalf("%s: at store %d and at store %d", what, first+1, got+1)
			}
		}
		return first
	}
	used := map[int]bool{}
	for i := range 20 {
		queue := fmt.Sprint("limited-", i)
		r.must(r.joined.SetLimits(r.ctx, queue, job.Limits{Running: 2}))
		home := same("a queue with limits", job.Queue(queue))
		if got := r.at(r.insert(other, job.Queue(queue), job.LimitKey("a")).ID); got != home {
			t.Errorf("a job with a limit key is at store %d, its queue at store %d", got+1, home+1)
		}
		if got := r.at(r.insert(other, job.Queue(queue), job.Unique("in "+queue)).ID); got != home {
			t.Errorf("a job with a unique key is at store %d, its queue at store %d", got+1, home+1)
		}
		used[same("a limit key", job.LimitKey(fmt.Sprint(i)))] = true
	}
	if len(used) != 3 {
		t.Errorf("20 limit keys are at %d stores, want 3", len(used))
	}
	for i := range 20 {
		first := r.insert(r.joined, job.Unique(fmt.Sprint(i)), job.LimitKey(fmt.Sprint("k", i)))
		again := r.note(job.Unique(fmt.Sprint(i)), job.LimitKey("another"))
		if ids, err := other.Insert(r.ctx, r.note(), again, r.note(job.Unique(fmt.Sprint(i)))); err != nil || ids[1] != first.ID || ids[2] != first.ID {
			t.Errorf("insert of a unique key that is held: %v, %v; want %v", ids, err, first.ID)
		}
	}
}

// TestJoinedCallsWithoutKeysGoToOneStore: so they are all or none. Many calls are distributed over all stores.
func TestJoinedCallsWithoutKeysGoToOneStore(t *testing.T) {
	r := newTrio(t)
	used := map[int]int{}
	for range 60 {
		jobs := []*job.Job{r.note(), r.note(job.Priority(9)), r.note(job.In(time.Hour))}
		if _, err := r.joined.Insert(r.ctx, jobs...); err != nil {
			t.Fatal(err)
		}
		place := r.at(jobs[0].ID)
		for _, j := range jobs[1:] {
			if got := r.at(j.ID); got != place {
				t.Fatalf("jobs of one call are at store %d and at store %d", place+1, got+1)
			}
		}
		used[place]++
	}
	if len(used) != 3 {
		t.Errorf("60 calls went to these stores: %v", used)
	}
}

// TestJoinedLimitsOfAnotherProgram: within five seconds, a program inserts jobs at the store that owns the queue.
func TestJoinedLimitsOfAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		other := r.join()
		r.insert(other, job.Queue("q"))
		r.must(r.joined.SetLimits(r.ctx, "q", job.Limits{Running: 1}))
		home := r.at(r.insert(r.joined, job.Queue("q")).ID)
		time.Sleep(5 * time.Second)
		for range 20 {
			if got := r.at(r.insert(other, job.Queue("q")).ID); got != home {
				t.Fatalf("the job is at store %d, its queue at store %d", got+1, home+1)
			}
		}
		r.must(r.joined.SetLimits(r.ctx, "q", job.Limits{}))
		time.Sleep(5 * time.Second)
		r.insert(other, job.Queue("q"))
		used := map[int]bool{}
		for range 60 {
			used[r.at(r.insert(other, job.Queue("q")).ID)] = true
		}
		if len(used) != 3 {
			t.Errorf("without limits again, the jobs are at %d stores, want 3", len(used))
		}
	})
}

// TestJoinedLimitsOfOneKey: a queue in which only one key has limits is at one store, until these limits are removed.
func TestJoinedLimitsOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		other := r.join()
		places := func(in job.Store) int {
			used := map[int]bool{}
			for range 60 {
				used[r.at(r.insert(in, job.Queue("q")).ID)] = true
			}
			return len(used)
		}
		r.must(r.joined.SetKeyLimits(r.ctx, "q", "a", job.KeyLimits{Running: 1}))
		if here, there := places(r.joined), places(other); here != 1 || there != 1 {
			t.Errorf("the jobs are at %d stores, and those of another program at %d, want 1 and 1", here, there)
		}
		r.must(r.joined.SetLimits(r.ctx, "q", job.Limits{Running: 1}))
		r.must(r.joined.SetLimits(r.ctx, "q", job.Limits{}))
		if got := places(r.joined); got != 1 {
			t.Errorf("without limits of the queue, the jobs are at %d stores", got)
		}
		for i, s := range r.stores {
			if got, err := s.Overrides(r.ctx, "q", "", 9); err != nil || len(got) != 1 || got[0].Running != 1 {
				t.Errorf("store %d has %v, %v", i+1, got, err)
			}
		}
		r.must(r.joined.SetKeyLimits(r.ctx, "q", "a", job.KeyLimits{}))
		if got := places(r.joined); got != 3 {
			t.Errorf("without limits again, the jobs are at %d stores, want 3", got)
		}
	})
}

// TestJoinedFollowUpsStayAtTheStoreOfTheirParent: they are inserted in the transaction of its outcome, even if another program has claimed the job,
// so that its store is not known.
func TestJoinedFollowUpsStayAtTheStoreOfTheirParent(t *testing.T) {
	r := newTrio(t)
	for i := range 30 {
		r.insert(r.joined)
		j := r.claim(r.joined, 1, job.DefaultQueue)[0]
		next := r.note(job.In(time.Hour), job.Unique(fmt.Sprint(i)))
		j.State = job.Completed
		settler := []*job.Joined{r.joined, r.join()}[i%2]
		lost, err := settler.Settle(r.ctx, 7, job.Outcome{Job: j, Then: []*job.Job{next}}, job.Outcome{Job: r.note()})
		if err != nil || len(lost) != 1 {
			t.Fatalf("settle: lost %v, %v; want the job that is at no store", lost, err)
		}
		if got, want := r.at(next.ID), r.at(j.ID); got != want {
			t.Errorf("the follow-up job is at store %d, its parent at store %d", got+1, want+1)
		}
	}
}

// TestJoinedClaimsBeginWithAnotherStoreEachTime: so no store has to wait for the others. A claim continues with the next store.
func TestJoinedClaimsBeginWithAnotherStoreEachTime(t *testing.T) {
	r := newTrio(t)
	for i := range r.stores {
		for range 20 {
			r.insertAt(i)
		}
	}
	for range 6 {
		used := map[int]bool{}
		for range 3 {
			for _, j := range r.claim(r.joined, 3, job.DefaultQueue) {
				used[r.at(j.ID)] = true
			}
		}
		if len(used) != 3 {
			t.Fatalf("three claims returned jobs of %d stores, want 3", len(used))
		}
	}
	if n := len(r.claim(r.joined, 100, job.DefaultQueue)); n != 6 {
		t.Errorf("the last claim returned %d jobs, want the 6 that are left at all stores", n)
	}
}

// TestJoinedClaimIsInOrder: the jobs of one claim are in order, whichever stores they come from.
func TestJoinedClaimIsInOrder(t *testing.T) {
	r := newTrio(t)
	var want []job.ID
	for p := job.HighestPriority; p >= job.LowestPriority; p-- {
		for _, queue := range []string{"a", "b"} {
			j := r.insertAt(p%3, job.Priority(p), job.Queue(queue))
			if queue == "a" {
				want = append(want, j.ID)
			}
		}
	}
	jobs := r.claim(r.joined, 18, "a", "b")
	var got []job.ID
	for _, j := range jobs[:9] {
		got = append(got, j.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("claimed %v first, want those of the first queue by priority: %v", got, want)
	}
}

// TestJoinedLimitsHold: limits bound the jobs that are inserted after they were set, over all workers.
func TestJoinedLimitsHold(t *testing.T) {
	r := newTrio(t)
	other := r.join()
	r.must(r.joined.SetLimits(r.ctx, "q", job.Limits{Running: 3, EachKey: job.KeyLimits{Running: 1}}))
	for i := range 30 {
		r.insert([]job.Store{r.joined, other}[i%2], job.Queue("q"), job.LimitKey(fmt.Sprint(i%5)))
	}
	for round := range 5 {
		jobs := append(r.claim(r.joined, 10, "q"), r.claim(other, 10, "q")...)
		if len(jobs) != 3 {
			t.Fatalf("round %d: %d jobs run, want 3", round, len(jobs))
		}
		keys := map[string]bool{}
		for _, j := range jobs {
			keys[j.LimitKey] = true
			j.State = job.Completed
		}
		if len(keys) != 3 {
			t.Errorf("the running jobs have %d keys, want 3", len(keys))
		}
		if uses, err := other.Limits(r.ctx, "q", "none", jobs[0].LimitKey); err != nil || uses[1].QueueRunning != 3 || uses[1].KeyRunning != 1 || uses[0].KeyRunning != 0 || uses[0].Running != 3 {
			t.Errorf("use %+v, %v", uses, err)
		}
		if lost, err := other.Settle(r.ctx, 7, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
			t.Fatalf("lost %v, %v", lost, err)
		}
	}
}

// TestJoinedListsGoOnAfterAPage: lists and actions continue after a page, over all stores, newest first.
func TestJoinedListsGoOnAfterAPage(t *testing.T) {
	r := newTrio(t)
	var ids []job.ID
	for range 450 {
		ids = append(ids, r.insert(r.joined, job.In(time.Hour)).ID)
	}
	slices.SortFunc(ids, func(a, b job.ID) int { return slices.Compare(b[:], a[:]) })
	listed := func(s job.Store, f job.Filter) (got []job.ID) {
		t.Helper()
		for j, err := range job.List(r.ctx, s, f) {
			r.must(err)
			got = append(got, j.ID)
		}
		return got
	}
	if got := listed(r.joined, job.Filter{}); !slices.Equal(got, ids) {
		t.Errorf("listed %d jobs, want %d, the newest first", len(got), len(ids))
	}
	queued := job.Filter{States: []job.State{job.Queued}, Limit: 170}
	done, err := r.joined.Apply(r.ctx, queued, job.ActionCancel)
	if want := (job.ActionResult{Changed: 170, Next: ids[169]}); err != nil || done != want {
		t.Fatalf("canceled %+v, %v; want %+v", done, err, want)
	}
	if got := listed(r.joined, job.Filter{States: []job.State{job.Canceled}}); !slices.Equal(got, ids[:170]) {
		t.Errorf("%d jobs are canceled, want the 170 newest", len(got))
	}
	done, err = job.Apply(r.ctx, r.joined, job.Filter{States: []job.State{job.Queued}, Before: done.Next}, job.ActionCancel)
	if err != nil || done.Changed != 280 {
		t.Errorf("canceled %+v, %v; want the 280 that are left", done, err)
	}
	counts, err := r.joined.Counts(r.ctx)
	if want := (job.Count{Queue: job.DefaultQueue, Kind: "note", State: job.Canceled, N: 450}); err != nil || len(counts) != 1 || counts[0] != want {
		t.Errorf("counts %v, %v; want %v", counts, err, want)
	}
}

// TestJoinedWorkersFinishWhatTheyEnqueue runs two programs with follow-ups, crons and Await.
func TestJoinedWorkersFinishWhatTheyEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		ctx, stop := context.WithCancel(r.ctx)
		chain := job.Define[int]("chain")
		handler := chain.Handle(func(ctx context.Context, n int) error {
			if n == 0 {
				return nil
			}
			next, err := chain.New(n - 1)
			if err != nil {
				return err
			}
			return job.Then(ctx, next)
		})
		var ticks atomic.Int64
		crons := []job.Cron{}
		for i := range 5 {
			crons = append(crons, job.Cron{Name: fmt.Sprint("c", i), Spec: "@every 10s", Job: noteKind.Maker(note{"tick"})})
		}
		ended := make(chan error, 2)
		for range 2 {
			w := job.NewWorker(r.join(), job.Config{Crons: crons}, handler, noteKind.Handle(func(context.Context, note) error {
				ticks.Add(1)
				return nil
			}))
			go func() { ended <- w.Run(ctx) }()
		}
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			for range 20 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					done, err := chain.Enqueue(ctx, r.joined, 5)
					if err != nil {
						return err
					}
					_, err = job.Await(ctx, r.joined, done.ID)
					return err
				})
			}
			return nil
		})
		r.must(err)
		seconds(60.5)
		stop()
		for range 2 {
			r.must(<-ended)
		}
		counts, err := r.joined.Counts(r.ctx)
		r.must(err)
		var completed int64
		for _, c := range counts {
			if c.State == job.Completed && c.Kind == "chain" {
				completed = c.N
			}
		}
		if completed != 120 {
			t.Errorf("%d jobs of the chains completed, want 120: %v", completed, counts)
		}
		if n := ticks.Load(); n < 25 || n > 35 {
			t.Errorf("%d ticks of 5 crons in a minute, want 30", n)
		}
	})
}
