package job

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Joined store is several stores that are used as one, see [Join]. Many goroutines, of many processes, may use it at once.
type Joined struct {
	parts  []*part
	closed atomic.Bool
	turn   atomic.Uint64 // the store that the next claim, or pruning, asks first

	limited  limitedQueues
	located  locations
	sessions joinedSessions
}

var _ Store = (*Joined)(nil)

// Join makes one store of several, of any kind (sharding): a claim asks all of them, and an insert chooses one by a hash. The stores need not know
// of each other. All programs must join the same stores in the same order, since the hash identifies a store by its position in that order. A store
// that is added at the end gets its share of new jobs: each of n stores gives up about one key in n+1. Jobs that are already stored stay where they
// are. Joined.Close closes the stores.
//
// Where a job goes:
//
//   - In a queue with [Limits]: to the store that owns the queue. Set limits before you enqueue: other programs learn of them within five
//     seconds, and each store counts only those jobs of the queue that it has.
//   - Else with a unique key: to the store that owns the key. A key is unique within that store.
//   - Else with a [LimitKey]: to the store that owns the key, or to the next one if that does not answer.
//   - Else: to the store of the other jobs of the same call, or to one chosen by its ID, or to the next one if that does not answer. So an
//     Insert without keys goes to one store and is all or nothing; one that goes to several stores may be stored in part when it fails.
//   - A job that follows another ([Then]): to the store of that job. The job of a cron's tick: to the store that owns the cron.
//
// Each claim starts with another store and continues with the next until it has enough jobs. So the order of priorities, times and queues holds
// within each store only. A worker has the same session at all stores.
//
// A store that does not answer is left out of claims, and of inserts that can go elsewhere, until it answers a ping; calls try that every few
// seconds, see [Joined.Health]. Calls that need this very store return an error that names it: by its position, and by its String method if it has
// one. Until it answers, counts, queues, workers, stats and crons are those of the other stores; List and Apply fail, since callers would take
// missing jobs for deleted ones. If ctx ends before a store that answers pings has answered, each of these calls returns an error.
//
// Join panics if it is given no store.
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
	Name  string    // "store 2 of 3", and what its String method returns, if it has one
	Since time.Time // since when it has not answered; zero while it answers
	Err   error     // why it does not answer
}

// Health returns the state of each store, as the calls of this process have found it. The first failure and the recovery are logged, too;
// [Worker.Health] reports the failure as its Trouble.
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

// Warning returns the first warning of a store, with the name of the store, or "". See [Health.Warning].
func (j *Joined) Warning() string {
	for _, p := range j.parts {
		if s, ok := p.Store.(interface{ Warning() string }); ok && s.Warning() != "" {
			return p.name + ": " + s.Warning()
		}
	}
	return ""
}

// Ping returns nil if at least one store answers, and no store that answers has a schema that does not fit.
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

// Migrate migrates each store that has a Migrate method, one after the other. It continues after an error, and returns the errors of all.
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

// enter returns an error if the call may not start: ctx has ended, or the store is closed.
func (j *Joined) enter(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if j.closed.Load() {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	return nil
}

// An answer is what one of the stores returned.
type answer[T any] struct {
	part *part
	got  T
	err  error
}

// ask calls one store. The call may take as long as bound, or half of what ctx leaves if that is less, so that a store that hangs does not use up the
// time of the others. Zero means no bound.
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

// askAll calls every store concurrently.
func askAll[T any](ctx context.Context, j *Joined, bound time.Duration, call func(ctx context.Context, p *part) (T, error)) []answer[T] {
	return askSome(ctx, j, j.parts, bound, call)
}

// askSome calls some stores concurrently, and returns their answers in the same order.
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
		if answers[i].part == nil { // its task did not start since ctx had ended; or it panicked, and Run panics, too
			answers[i] = answer[T]{part: parts[i], err: err}
		}
	}
	return answers
}

// noneAnswered returns an error if no store answered. If some did, it logs the errors of the others, unless the caller canceled the call: then they
// do not mean that a store has a fault.
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

// readAnswered is noneAnswered for calls that read. It also returns an error if ctx ended before a store that answers pings had answered: the caller
// would take what that store has for missing.
func readAnswered[T any](ctx context.Context, answers []answer[T]) error {
	if err := ctx.Err(); err != nil {
		for _, a := range answers {
			if a.err != nil && a.part.health().Err == nil {
				return fmt.Errorf("%s: %w", a.part.name, err)
			}
		}
	}
	return noneAnswered(ctx, answers)
}

// allFailed returns the joined errors of all stores that failed, or nil.
func allFailed[T any](answers []answer[T]) error {
	var failed []error
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, a.err)
		}
	}
	return errors.Join(failed...)
}
