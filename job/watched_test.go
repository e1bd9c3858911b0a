package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
	"github.com/meanwhile-go/meanwhile/job"
)

// A spy is a store that records what workers report and when.
type spy struct {
	job.Store
	mu       sync.Mutex
	renewals []job.Renewal
	at       []time.Time
}

func (s *spy) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	s.mu.Lock()
	s.renewals, s.at = append(s.renewals, r), append(s.at, time.Now())
	s.mu.Unlock()
	return s.Store.Renew(ctx, r)
}

// seen returns what was reported since the last call: the number of renewals, when trees were reported, and the number of stats.
func (s *spy) seen() (renewals int, trees []time.Time, stats int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.renewals {
		if len(r.Trees) > 0 {
			trees = append(trees, s.at[i])
		}
		stats += len(r.Stats)
	}
	renewals = len(s.renewals)
	s.renewals, s.at = nil, nil
	return renewals, trees, stats
}

// newSpiedRig is newRig on a spy.
func newSpiedRig(t *testing.T, config job.Config, handlers ...job.Handler) (*rig, *spy) {
	t.Helper()
	r, s := newIdleRig(t), new(spy)
	s.Store = r.store
	r.startWorker(s, config, handlers...)
	t.Cleanup(r.end)
	return r, s
}

func (r *rig) watch(id job.ID, d time.Duration) job.Tree {
	r.Helper()
	tree, err := r.store.Watch(r.ctx, id, d)
	if err != nil {
		r.Fatal(err)
	}
	return tree
}

// watched watches a job until a tree was reported, and decodes it.
func (r *rig) watched(id job.ID) inspect.Node {
	r.Helper()
	r.watch(id, 10*time.Second)
	seconds(2)
	tree := r.watch(id, 10*time.Second)
	var n inspect.Node
	if err := json.Unmarshal(tree.JSON, &n); err != nil {
		r.Fatalf("tree %.100s: %v", tree.JSON, err)
	}
	return n
}

// findTask returns the task of a tree with a name.
func (r *rig) findTask(tree inspect.Node, name string) *inspect.Node {
	r.Helper()
	n := trees.Find([]inspect.Node{tree}, func(n *inspect.Node) bool { return n.Name == name })
	if n == nil {
		r.Fatalf("no task %s in\n%v", name, tree)
	}
	return n
}

// fetching is a handler with a task below it, which sleeps.
func fetching(ctx context.Context, n note) error {
	return meanwhile.Sleep(ctx, time.Hour)
}

func fetchBelow(ctx context.Context, _ note) error {
	meanwhile.Go(ctx, func(ctx context.Context) error { return fetching(ctx, note{}) }, meanwhile.Name("fetch"))
	return nil
}

func TestTreeOfARunningJobIsShownWithinTwoSeconds(t *testing.T) {
	for _, after := range []float64{0.001, 0.25, 0.5, 0.999} { // of a beat
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, job.Config{}, noteKind.Handle(fetchBelow))
			id := r.enqueue()
			seconds(10 + after)
			if got := r.watch(id, 10*time.Second); got.JSON != nil || got.Attempt != 0 {
				t.Errorf("the first watch returned %+v, want nothing", got)
			}
			seconds(1.01) // the rest of the beat
			got := r.watch(id, 10*time.Second)
			var tree inspect.Node
			if err := json.Unmarshal(got.JSON, &tree); err != nil {
				t.Fatalf("%s: %v", got.JSON, err)
			}
			if got.Job != id || got.Attempt != 1 || time.Since(got.At) > time.Second {
				t.Errorf("tree of attempt %d of %v, %v old", got.Attempt, got.Job, time.Since(got.At))
			}
			if tree.Name != "note "+id.String() || tree.Kind != "run" {
				t.Errorf("the tree begins with %s %q", tree.Kind, tree.Name)
			}
			fetch := r.findTask(tree, "fetch")
			if fetch.Wait.For != "sleep" || fetch.Wait.Func != "github.com/meanwhile-go/meanwhile/job_test.fetching" || fetch.Wait.Until.IsZero() {
				t.Errorf("the task waits for %+v", fetch.Wait)
			}
			// The IDs and paths are those that the program shows.
			own := trees.Find(inspect.Trees(), func(n *inspect.Node) bool { return n.ID == fetch.ID })
			if own == nil || own.Path != fetch.Path || !strings.HasSuffix(own.Path, "/note "+id.String()+"/fetch") {
				t.Errorf("task %d has the path %s, and the program shows %+v", fetch.ID, fetch.Path, own)
			}
		})
	}
}

func TestNothingIsToldWhenNobodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newSpiedRig(t, job.Config{}, noteKind.Handle(fetchBelow))
		watched, other := r.enqueue(), r.enqueue()
		seconds(10)
		s.seen()
		seconds(600)
		if renewals, trees, stats := s.seen(); renewals > 601 || len(trees) != 0 || stats > 41 { // the stats are the lengths of the queue
			t.Errorf("in 600 s without a watch: %d renewals, %d with trees, %d stats", renewals, len(trees), stats)
		}

		r.watch(watched, 20*time.Second)
		seconds(30)
		renewals, trees, stats := s.seen()
		if renewals > 32 || len(trees) < 19 || len(trees) > 21 || stats > 3 {
			t.Errorf("in 30 s, 20 of them with a watch: %d renewals, %d with trees, %d stats", renewals, len(trees), stats)
		}
		for i := 1; i < len(trees); i++ {
			if d := trees[i].Sub(trees[i-1]); d < 950*time.Millisecond {
				t.Errorf("trees %v after each other", d)
			}
		}
		seconds(60)
		if renewals, trees, _ := s.seen(); renewals > 61 || len(trees) != 0 {
			t.Errorf("in the 60 s after the watch: %d renewals, %d with trees", renewals, len(trees))
		}
		if got := r.watch(other, 0); got.JSON != nil {
			t.Errorf("a job that nobody watched has the tree %s", got.JSON)
		}
	})
}

func TestAWatchLastsAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newSpiedRig(t, job.Config{}, noteKind.Handle(fetchBelow))
		id := r.enqueue()
		seconds(1)
		r.watch(id, 24*time.Hour)
		seconds(59)
		if _, trees, _ := s.seen(); len(trees) < 58 {
			t.Errorf("in 59 s %d trees were reported", len(trees))
		}
		seconds(2)
		s.seen()
		seconds(60)
		if _, trees, _ := s.seen(); len(trees) != 0 {
			t.Errorf("after a minute %d trees were reported", len(trees))
		}
	})
}

func TestShortLeasesTellNoMoreTrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newSpiedRig(t, job.Config{Lease: 600 * time.Millisecond}, noteKind.Handle(fetchBelow))
		id := r.enqueue()
		seconds(1)
		r.watch(id, time.Minute)
		seconds(20)
		if renewals, trees, _ := s.seen(); renewals < 100 || len(trees) < 15 || len(trees) > 22 {
			t.Errorf("in 20 s: %d renewals, %d with trees", renewals, len(trees))
		}
	})
}

func TestTreesOfManyWatchedJobsHaveTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newSpiedRig(t, job.Config{}, noteKind.Handle(fetchBelow))
		var ids []job.ID
		for range 40 {
			ids = append(ids, r.enqueue())
		}
		seconds(10)
		for _, id := range ids {
			r.watch(id, time.Minute)
		}
		seconds(5)
		for i, id := range ids {
			if got := r.watch(id, 0); got.JSON == nil {
				t.Errorf("after 5 s job %d has no tree", i)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, renewal := range s.renewals {
			if len(renewal.Trees) > 16 {
				t.Errorf("got %d trees in one renewal, want at most 16", len(renewal.Trees))
			}
		}
	})
}

// TestWatchesThatComeAndGoCostOneMoreCallABeat: a store may report other watched jobs each time. This must not make its worker call it without a
// pause.
func TestWatchesThatComeAndGoCostOneMoreCallABeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		s := &spy{Store: fickle{r.store}}
		r.startWorker(s, job.Config{Name: "w"}, noteKind.Handle(fetchBelow))
		t.Cleanup(r.end)
		seconds(10)
		if renewals, _, _ := s.seen(); renewals > 24 {
			t.Errorf("%d renewals in 10 s", renewals)
		}
	})
}

// A fickle store reports a new watch, and a command, each time.
type fickle struct{ job.Store }

func (s fickle) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	got, err := s.Store.Renew(ctx, r)
	got.Watched, got.Commands = append(got.Watched, job.NewID()), append(got.Commands, job.Command{Do: job.CommandResume})
	return got, err
}

func TestLargeTreesAreCut(t *testing.T) {
	t.Parallel()
	const wide, deep = 3000, 700
	var below func(ctx context.Context, n int) error
	below = func(ctx context.Context, n int) error {
		if n == 0 {
			return meanwhile.Sleep(ctx, time.Hour)
		}
		meanwhile.Go(ctx, func(ctx context.Context) error { return below(ctx, n-1) }, meanwhile.Name("deeper"))
		return nil
	}
	shapes := map[string]func(ctx context.Context, _ note) error{
		"wide": func(ctx context.Context, _ note) error {
			for range wide {
				meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) })
			}
			return nil
		},
		"deep": func(ctx context.Context, _ note) error { return below(ctx, deep) },
		"long names": func(ctx context.Context, _ note) error {
			for range 10 {
				meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name(strings.Repeat("ü<\x00", 50_000)))
			}
			return nil
		},
	}
	tasks := map[string]int{"wide": 1 + wide, "deep": 1 + deep, "long names": 11}
	for name, handler := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, job.Config{}, noteKind.Handle(handler))
				id := r.enqueue()
				seconds(3)
				tree := r.watched(id)
				text := r.watch(id, 0).JSON
				if len(text) > job.MaxTree || len(text) < job.MaxTree/3 {
					t.Errorf("the tree has %d bytes, of at most %d", len(text), job.MaxTree)
				}
				if n := trees.Count([]inspect.Node{tree}); n != tasks[name] {
					t.Errorf("the tree has %d tasks, including those that it only counts, want %d", n, tasks[name])
				}
				for n := range trees.Tasks([]inspect.Node{tree}) {
					if len(n.Name) > 1<<10 || len(n.Path) > 1<<10 || len(n.Wait.On) > 1<<10 {
						t.Fatalf("a name of %d bytes, a path of %d, a wait of %d", len(n.Name), len(n.Path), len(n.Wait.On))
					}
				}
			})
		})
	}
}

func TestWatchEndsWithTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := job.Define[note]("twice", job.MaxAttempts(2), job.Backoff(func(int, error) time.Duration { return time.Minute }))
		r := newRig(t, job.Config{}, kind.Handle(func(ctx context.Context, _ note) error {
			if err := meanwhile.Sleep(ctx, 10*time.Second); err != nil {
				return err
			}
			return errFlaky
		}))
		enqueued, err := kind.Enqueue(r.ctx, r.store, note{})
		if err != nil {
			t.Fatal(err)
		}
		id := enqueued.ID
		seconds(5)
		for attempt := 1; attempt <= 2; attempt++ {
			r.watch(id, time.Minute)
			seconds(2)
			if got := r.watch(id, time.Minute); got.Attempt != attempt {
				t.Errorf("tree of attempt %d, want %d", got.Attempt, attempt)
			}
			seconds(7)
			if got := r.watch(id, time.Minute); got.JSON != nil {
				t.Errorf("the tree of an attempt that has ended: %s", got.JSON)
			}
			seconds(60) // then the second attempt has run for 4 s
		}
		r.wantState(id, job.Discarded)
	})
}

func ExampleTree() {
	tree := job.Tree{JSON: []byte(`{"id":7,"name":"mail.send 0199","state":"running","wait":{"for":"tasks"},"tasks":[
		{"id":8,"name":"relay","state":"running","wait":{"for":"network","on":"read"}}]}`)}
	var node inspect.Node
	if err := json.Unmarshal(tree.JSON, &node); err != nil {
		fmt.Println(err)
	}
	fmt.Print(node)
	// Output:
	// mail.send 0199: tasks
	// └─ relay: network read
}
