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
	awaitEach    = 500 * time.Millisecond // between two queries for what other processes finish
	awaitMissing = 10                     // of these queries one also asks whether the jobs are still there
	awaitCall    = 10 * time.Second       // bounds each
	awaitOnce    = 500                    // jobs asked for at once
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

// Await waits until a job has finished, in whatever state, and returns it. If the job's worker is in this process and has the same
// [Store], it returns at once when the job has finished, otherwise within about half a second. All callers of a process that wait
// for jobs of one store share a query each half second, so that thousands may wait. For a job that does not exist, or is deleted
// meanwhile, it returns ErrNotFound. If the store does not answer, Await retries until ctx ends.
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

// Await waits until a job of this kind has finished, see [Await], and decodes what its handler returned into result, a pointer, unless
// result is nil. For a job that was canceled or discarded the error is a *NotCompletedError.
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

// awaits are the callers that wait for jobs of a store. One of them leads: it asks for all. When it has what it waits for, or
// gives up, another leads.
type awaits struct {
	store   Store
	callers int           // guarded by stores.mu
	leading chan struct{} // capacity 1: who has put a value in leads
	wake    chan struct{} // capacity 1: there are jobs to ask for now

	mu      sync.Mutex
	waiting map[ID][]*awaiter
	now     map[ID]bool // of these jobs, those to ask for at once
}

// awaitedStores are those that somebody waits for. n lets workers pass quickly when there is none.
var awaitedStores struct {
	n  atomic.Int64
	mu sync.Mutex
	of map[Store]*awaits
}

// joinAwaits returns those that wait for jobs of s. A Store that cannot be compared with others is one of its own for each caller.
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
	if a.callers == 0 { // of one caller alone, in no list
		return
	}
	if a.callers--; a.callers == 0 {
		delete(stores.of, a.store)
		stores.n.Add(-1)
	}
}

// finishedHere is told of jobs that may have finished, by what finishes them in this process; nil stands for any.
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

// lead asks the store, for all that wait, until w has its answer or ctx ends. Only an error that will not pass is returned.
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

// ask asks for jobs and answers those that wait for the finished ones, and, if it is to look for missing ones, for those as well. What
// was not answered is asked for again with the next round.
func (a *awaits) ask(ctx context.Context, ids []ID, missing bool) error {
	for part := range slices.Chunk(ids, awaitOnce) {
		f := Filter{IDs: part, Limit: len(part)}
		if !missing {
			f.States = []State{Completed, Canceled, Discarded} // the others may have large args
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
		w.got <- got // it is removed from waiting, so nobody else fills it
	}
	delete(a.waiting, id)
	delete(a.now, id)
}
