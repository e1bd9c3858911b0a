package job

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	awaitEach    = 500 * time.Millisecond // between two queries for jobs that other processes finish
	awaitMissing = 10                     // every tenth of these queries also checks whether the jobs still exist
	awaitCall    = 10 * time.Second       // timeout of each query
	awaitOnce    = 500                    // jobs in one query
)

// A NotCompletedError is returned by [Kind.Await] for a job that was canceled or discarded.
type NotCompletedError struct{ Job *Job }

// Error returns how the job ended, and its last failure.
func (e *NotCompletedError) Error() string {
	text := fmt.Sprintf("job %s %v is %s", e.Job.Kind, e.Job.ID, e.Job.State)
	if last := e.Job.LastError(); last != "" {
		text += ": " + last
	}
	return text
}

// Await waits until a job has finished, in whatever state, and returns it. If the job's worker is in this process and uses the same [Store], Await
// returns immediately when the job finishes, otherwise within about half a second. All callers of a process that wait for jobs of one store share
// one query each half second, so that thousands may wait. For a job that does not exist, or is deleted while Await waits, it returns ErrNotFound.
// If the store does not answer, Await retries until ctx ends.
func Await(ctx context.Context, s Store, id ID) (*Job, error) {
	a := joinAwaits(s)
	defer a.leave()
	w := &awaiter{id: id, got: make(chan awaited, 1)}
	a.add(w)
	defer a.remove(w)
	for {
		select {
		case got := <-w.got:
			return got.job, got.err
		case <-ctx.Done():
			return nil, fmt.Errorf("await job %v: %w", id, context.Cause(ctx))
		case a.leading <- struct{}{}:
			err := a.lead(ctx, w)
			<-a.leading
			if err != nil {
				return nil, fmt.Errorf("await job %v: %w", id, err)
			}
		}
	}
}

// Await waits until a job of this kind has finished, see [Await], and decodes the result of its handler into result, a pointer, unless result is
// nil. For a job that was canceled or discarded the error is a *NotCompletedError.
func (k *Kind[T]) Await(ctx context.Context, s Store, id ID, result any) error {
	j, err := Await(ctx, s, id)
	switch {
	case err != nil:
		return err
	case j.Kind != k.name:
		return fmt.Errorf("await job %v: it is of kind %q, not %q", id, j.Kind, k.name)
	case j.State != Completed:
		return &NotCompletedError{j}
	case result == nil:
		return nil
	case j.Result == nil:
		return fmt.Errorf("await job %s %v: its handler has returned no result, or one of more than %d bytes", k.name, id, MaxResult)
	}
	if err := json.Unmarshal(j.Result, result); err != nil {
		return fmt.Errorf("result of job %s %v: %w", k.name, id, err)
	}
	return nil
}

// An awaiter is a caller of Await.
type awaiter struct {
	id  ID
	got chan awaited // capacity 1
}

type awaited struct {
	job *Job
	err error
}

// awaits are the callers that wait for jobs of a store. One of them is the leader, which queries the store for all. When its job has finished, or
// its ctx has ended, another caller becomes the leader.
type awaits struct {
	store   Store
	callers int           // guarded by stores.mu
	leading chan struct{} // capacity 1: the caller that has put a value in is the leader
	wake    chan struct{} // capacity 1: there are jobs in now

	mu      sync.Mutex
	waiting map[ID][]*awaiter
	now     map[ID]bool // the waiting jobs to query immediately
}

// awaitedStores are the stores that callers of Await wait for. n is their number, so that workers need no lock while there are none.
var awaitedStores struct {
	n  atomic.Int64
	mu sync.Mutex
	of map[Store]*awaits
}

// joinAwaits returns the awaits of a store. A Store that is not comparable gets a separate one for each caller.
func joinAwaits(s Store) *awaits {
	if !reflect.ValueOf(s).Comparable() {
		return newAwaits(s)
	}
	stores := &awaitedStores
	stores.mu.Lock()
	defer stores.mu.Unlock()
	a := stores.of[s]
	if a == nil {
		a = newAwaits(s)
		if stores.of == nil {
			stores.of = map[Store]*awaits{}
		}
		stores.of[s] = a
		stores.n.Add(1)
	}
	a.callers++
	return a
}

func newAwaits(s Store) *awaits {
	return &awaits{
		store: s, leading: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		waiting: map[ID][]*awaiter{}, now: map[ID]bool{},
	}
}

func (a *awaits) leave() {
	stores := &awaitedStores
	stores.mu.Lock()
	defer stores.mu.Unlock()
	if a.callers == 0 { // not shared, and in no map
		return
	}
	if a.callers--; a.callers == 0 {
		delete(stores.of, a.store)
		stores.n.Add(-1)
	}
}

// finishedHere is called by code of this process that may have finished jobs; nil ids stand for any job.
func finishedHere(s Store, ids iter.Seq[ID]) {
	if awaitedStores.n.Load() == 0 || !reflect.ValueOf(s).Comparable() {
		return
	}
	awaitedStores.mu.Lock()
	a := awaitedStores.of[s]
	awaitedStores.mu.Unlock()
	if a == nil {
		return
	}
	a.mu.Lock()
	if ids == nil {
		ids = maps.Keys(a.waiting)
	}
	for id := range ids {
		if len(a.waiting[id]) > 0 {
			a.now[id] = true
		}
	}
	some := len(a.now) > 0
	a.mu.Unlock()
	if some {
		signal(a.wake)
	}
}

func (a *awaits) add(w *awaiter) {
	a.mu.Lock()
	a.waiting[w.id] = append(a.waiting[w.id], w)
	a.now[w.id] = true
	a.mu.Unlock()
	signal(a.wake)
}

func (a *awaits) remove(w *awaiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := slices.DeleteFunc(a.waiting[w.id], func(other *awaiter) bool { return other == w })
	if a.waiting[w.id] = left; len(left) == 0 {
		delete(a.waiting, w.id)
		delete(a.now, w.id)
	}
}

// lead queries the store, for all callers, until w has its answer or ctx ends. It returns only errors that are fatal.
func (a *awaits) lead(ctx context.Context, w *awaiter) error {
	timer := time.NewTimer(awaitEach)
	defer timer.Stop()
	for round := 1; len(w.got) == 0; {
		select {
		case <-a.wake:
			if err := a.ask(ctx, a.takeNow(), true); fatal(err) {
				return err
			}
		case <-timer.C:
			if err := a.ask(ctx, a.all(), round%awaitMissing == 0); fatal(err) {
				return err
			}
			round++
			timer.Reset(awaitEach)
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (a *awaits) takeNow() []ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := slices.Collect(maps.Keys(a.now))
	clear(a.now)
	return ids
}

func (a *awaits) all() []ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.waiting))
}

// ask queries jobs and answers the callers that wait for the finished ones. With missing, it also answers those whose job does not exist. Jobs
// without an answer are queried again in the next round.
func (a *awaits) ask(ctx context.Context, ids []ID, missing bool) error {
	for part := range slices.Chunk(ids, awaitOnce) {
		f := Filter{IDs: part, Limit: len(part)}
		if !missing {
			f.States = []State{Completed, Canceled, Discarded} // unfinished jobs may have large args
		}
		call, cancel := context.WithTimeout(ctx, awaitCall)
		jobs, err := a.store.List(call, f)
		cancel()
		if err != nil {
			return err
		}
		there := map[ID]bool{}
		for _, j := range jobs {
			there[j.ID] = true
			if j.State.Finished() {
				a.answer(j.ID, j, nil)
			}
		}
		for _, id := range part {
			if missing && !there[id] {
				a.answer(id, nil, fmt.Errorf("await job %v: %w", id, ErrNotFound))
			}
		}
	}
	return nil
}

func (a *awaits) answer(id ID, j *Job, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waiting[id] {
		got := awaited{err: err}
		if j != nil {
			own := *j
			got.job = &own
		}
		w.got <- got // w is removed from waiting below, so nothing else fills the channel
	}
	delete(a.waiting, id)
	delete(a.now, id)
}
