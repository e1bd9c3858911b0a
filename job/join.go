package job

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Joined store is several stores behind one, see [Join]. It may be used by many goroutines, of many processes, at once.
type Joined struct {
	parts  []*part
	closed atomic.Bool
	turn   atomic.Uint64 // which store the next claim, or pruning, asks first

	limited  limitedQueues
	located  locations
	sessions joinedSessions
}

var _ Store = (*Joined)(nil)

// Join makes one store of several (sharding), of any kind: a claim asks all of them, an insert chooses one by a hash. The stores need not know
// of each other. All programs join the same stores in the same order, since the place of a store in that order is its name for the hash. A store that is
// added at the end takes its share of what is inserted from then on; of n stores each gives up about one key in n+1. Jobs that are stored
// stay where they are. Joined.Close closes the stores.
//
// Where a job goes:
//
//   - In a queue that has [Limits], to the store that owns the queue. Set limits before you enqueue: other programs learn of them within five
//     seconds, and each store counts for itself the jobs of the queue that it has.
//   - Else with a unique key, to the store that owns the key. A key is unique within that store.
//   - Else with a [LimitKey], to the store that owns the key, or to the next one while that does not answer.
//   - Else to the store of the other jobs of the same call, or that of its ID, or the next one. So a call without keys goes to one store,
//     and is all or none; of one that goes to several stores a part may be stored when it fails.
//   - What follows a job ([Then]), to the store of that job; the job of a cron's tick, to the store that owns the cron.
//
// A claim starts with another store each time and goes on with the next while it may take more, so the order of priorities, times and queues
// holds within each store. One session stands for the worker at all stores.
//
// A store that does not answer is left out of claims, and of inserts that may go elsewhere, until it answers a ping again, which is tried every
// few seconds as calls are made; see [Joined.Health]. Calls that only this store can answer return an error that names it: by its place, and by
// its String method if it has one. Counts, queues, workers, stats and crons are then those of the others; List and Apply fail, since what they leave
// out would count as absent.
//
// Join panics when it is given no store.
func Join(stores ...Store) *Joined {
	if len(stores) == 0 {
		panic("job.Join: no store is given: give one at least")
	}
	j := &Joined{}
	for i, s := range stores {
		if s == nil {
			panic(fmt.Sprintf("job.Join: store %d is nil: give the stores that were opened", i+1))
		}
		name := fmt.Sprintf("store %d of %d", i+1, len(stores))
		if s, ok := s.(fmt.Stringer); ok {
			name += " (" + s.String() + ")"
		}
		j.parts = append(j.parts, &part{Store: s, index: i, name: name})
	}
	return j
}

// A StoreHealth is the state of one of the stores that were joined.
type StoreHealth struct {
	Name  string    // "store 2 of 3", and what its String method says, if it has one
	Since time.Time // it does not answer since then; zero while it does
	Err   error     // why
}

// Health returns the state of each store, as the calls of this process have found it. The first failure and the recovery are logged as well, and
// [Worker.Health] has it as its Trouble.
func (j *Joined) Health() []StoreHealth {
	all := make([]StoreHealth, len(j.parts))
	for i, p := range j.parts {
		all[i] = p.health()
	}
	return all
}

// trouble names the first store that does not answer, for Worker.Health.
func (j *Joined) trouble() string {
	for _, h := range j.Health() {
		if h.Err != nil {
			return h.Name + ": " + h.Err.Error()
		}
	}
	return ""
}

// Ping returns nil when one of the stores answers and none of those that do has a schema which does not fit.
func (j *Joined) Ping(ctx context.Context) error {
	if err := j.enter(ctx, "ping"); err != nil {
		return err
	}
	answers := askAll(ctx, j, 0, func(ctx context.Context, p *part) (struct{}, error) { return struct{}{}, p.Ping(ctx) })
	for _, a := range answers {
		if a.err == nil {
			continue
		}
		if err := a.part.health().Err; errors.Is(err, ErrSchema) || errors.Is(err, ErrNoSchema) {
			return fmt.Errorf("%s: %w", a.part.name, err)
		}
	}
	return noneAnswered(ctx, answers)
}

// Migrate migrates each store that has a method Migrate, one after the other. It returns the errors of all, so that one that does not answer
// holds up no other.
func (j *Joined) Migrate(ctx context.Context) error {
	if err := j.enter(ctx, "migrate"); err != nil {
		return err
	}
	var failed []error
	for _, p := range j.parts {
		if m, ok := p.Store.(interface {
			Migrate(ctx context.Context) error
		}); ok {
			if err := m.Migrate(ctx); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
			}
		}
	}
	return errors.Join(failed...)
}

// Close closes all the stores.
func (j *Joined) Close() error {
	j.closed.Store(true)
	var failed []error
	for _, p := range j.parts {
		if err := p.Close(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(failed...)
}

// enter returns why a call must not begin.
func (j *Joined) enter(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if j.closed.Load() {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	return nil
}

// An answer is what one of the stores has returned.
type answer[T any] struct {
	part *part
	got  T
	err  error
}

// ask makes a call to one store. bound, if it is not zero, is how long it may take, or half of what ctx leaves if that is less: a store that hangs
// must not use up the time of the others.
func ask[T any](ctx context.Context, j *Joined, p *part, bound time.Duration, call func(ctx context.Context, p *part) (T, error)) answer[T] {
	a := answer[T]{part: p}
	if a.err = p.ready(ctx, true); a.err != nil {
		return a
	}
	inner, cancel := ctx, func() {}
	if bound > 0 {
		inner, cancel = within(ctx, bound)
	}
	defer cancel()
	if a.got, a.err = call(inner, p); a.err != nil {
		a.err = j.failed(ctx, p, a.err)
	}
	return a
}

// askAll makes a call to every store at once.
func askAll[T any](ctx context.Context, j *Joined, bound time.Duration, call func(ctx context.Context, p *part) (T, error)) []answer[T] {
	return askSome(ctx, j, j.parts, bound, call)
}

// askSome makes a call to some stores at once, and returns their answers in the same order.
func askSome[T any](ctx context.Context, j *Joined, parts []*part, bound time.Duration, call func(ctx context.Context, p *part) (T, error)) []answer[T] {
	answers := make([]answer[T], len(parts))
	if len(parts) == 1 {
		answers[0] = ask(ctx, j, parts[0], bound, call)
		return answers
	}
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		for i, p := range parts {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				answers[i] = ask(ctx, j, p, bound, call)
				return nil
			}, meanwhile.Name(fmt.Sprint("store ", p.index+1)))
		}
		return nil
	}, meanwhile.Name("joined stores"))
	for i := range answers {
		if answers[i].part == nil { // ctx ended before it began, or it has panicked, which Run passes on
			answers[i] = answer[T]{part: parts[i], err: err}
		}
	}
	return answers
}

// noneAnswered returns an error when there is no answer at all. Errors beside an answer are logged, unless the caller has ended the call: that says
// nothing of the stores.
func noneAnswered[T any](ctx context.Context, answers []answer[T]) error {
	failed := 0
	for _, a := range answers {
		if a.err != nil {
			failed++
		}
	}
	if failed == len(answers) {
		return allFailed(answers)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	for _, a := range answers {
		a.part.refusal(a.err)
	}
	return nil
}

// allFailed returns the errors of the stores that have not answered, or nil.
func allFailed[T any](answers []answer[T]) error {
	var failed []error
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, a.err)
		}
	}
	return errors.Join(failed...)
}
