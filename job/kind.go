package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const defaultMaxAttempts = 20

// A Kind is a type of job: a name that must never change, since stored jobs carry it, and the type of the args, which are stored as JSON. It is
// created once, by [Define], and may be used by many goroutines at once.
type Kind[T any] struct {
	name string
	definition
}

// Define defines a kind. It panics if the name is empty, longer than MaxName or contains spaces or control characters, and if an option is out of
// its range: these are programming errors.
func Define[T any](name string, opts ...DefineOption) *Kind[T] {
	return &Kind[T]{name: name, definition: define(name, opts)}
}

func define(name string, opts []DefineOption) definition {
	var d definition
	for _, o := range opts {
		o.define(&d)
	}
	in := newInsertion(name, json.RawMessage("null"))
	for _, o := range d.defaults {
		o.enqueue(in)
	}
	if err := in.check(); err != nil {
		panic("job: Define: " + err.Error())
	}
	return d
}

// Name returns the name of the kind.
func (k *Kind[T]) Name() string { return k.name }

// New returns a new job for [Insert], whose args are the JSON of args. It returns an error if they cannot be encoded or are longer than MaxArgs,
// and for an option out of its range.
func (k *Kind[T]) New(args T, opts ...EnqueueOption) (*Job, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("args of job kind %q: %w", k.name, err)
	}
	return newJob(k.name, text, k.defaults, opts)
}

// Args decodes the args of a job of this kind.
func (k *Kind[T]) Args(j *Job) (T, error) {
	var args T
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return args, fmt.Errorf("args of job kind %q: %w", j.Kind, err)
	}
	return args, nil
}

// Enqueue creates one job and enqueues it: in a store, after which it is durable, or in a transaction of the caller's, after which it exists if and
// only if the transaction commits.
func (k *Kind[T]) Enqueue(ctx context.Context, in Inserter, args T, opts ...EnqueueOption) (Enqueued, error) {
	j, err := k.New(args, opts...)
	if err != nil {
		return Enqueued{}, err
	}
	done, err := Insert(ctx, in, j)
	if err != nil {
		return Enqueued{}, err
	}
	return done[0], nil
}

// EnqueueAll enqueues a job for each of the args, see [EnqueueAll].
func (k *Kind[T]) EnqueueAll(ctx context.Context, in Inserter, args meanwhile.Stream[T], opts ...EnqueueOption) (Bulk, error) {
	return EnqueueAll(ctx, in, func(yield func(*Job, error) bool) {
		for a, err := range args {
			var j *Job
			if err == nil {
				j, err = k.New(a, opts...)
			}
			if !yield(j, err) {
				return
			}
		}
	})
}

// New returns a new job of a kind that is known by its name alone. The args are JSON, of which the job has no white space around the tokens. New
// returns an error if they are not JSON, or are longer than MaxArgs, and for a name or an option out of its range.
func New(kind string, args json.RawMessage, opts ...EnqueueOption) (*Job, error) {
	return newJob(kind, args, nil, opts)
}

func newJob(kind string, args json.RawMessage, defaults, opts []EnqueueOption) (*Job, error) {
	in := newInsertion(kind, args)
	for _, o := range defaults {
		o.enqueue(in)
	}
	for _, o := range opts {
		o.enqueue(in)
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	in.Job.ID = NewID()
	return in.Job, nil
}

func newInsertion(kind string, args json.RawMessage) *insertion {
	return &insertion{Job: &Job{
		Kind:        kind,
		Queue:       DefaultQueue,
		Args:        args,
		State:       Queued,
		Priority:    DefaultPriority,
		MaxAttempts: defaultMaxAttempts,
	}}
}

// check returns an error if what the options and the caller have set is invalid. It does not check the unique key, which depends on the args.
func (in *insertion) check() error {
	j := in.Job
	if in.err != nil {
		return fmt.Errorf("job kind %q: %w", j.Kind, in.err)
	}
	if in.once {
		if in.attempts && j.MaxAttempts != 1 {
			return fmt.Errorf("job kind %q: %d attempts, and it is run at most once, see AtMostOnce: leave MaxAttempts out", j.Kind, j.MaxAttempts)
		}
		j.MaxAttempts = 1
	}
	return checkJob(j)
}

// finish checks the job and sets its unique key.
func (in *insertion) finish() error {
	if err := in.check(); err != nil {
		return err
	}
	j := in.Job
	if in.notUnique {
		j.UniqueFor, j.UniqueWhile, j.Replace, j.ReplaceWithin = 0, nil, false, 0
		return nil
	}
	if err := in.checkUnique(); err != nil {
		return fmt.Errorf("job kind %q: %w", j.Kind, err)
	}
	if in.unique == nil {
		return nil
	}
	key, err := in.unique(j)
	if err != nil {
		return fmt.Errorf("unique key of job kind %q: %w", j.Kind, err)
	}
	j.UniqueKey = j.Kind + " " + key // kinds contain no space, so no two kinds share a key
	return checkKey(j.UniqueKey)
}

// checkUnique returns an error if the options about the unique key do not fit together.
func (in *insertion) checkUnique() error {
	j := in.Job
	for _, s := range j.UniqueWhile {
		if s != Queued && s != Running && !s.Finished() {
			return fmt.Errorf("UniqueWhile(%s): give states in which jobs are stored: queued, running, completed, canceled or discarded", s)
		}
	}
	if in.debounced > 0 && (!j.RunAt.IsZero() || j.Delay != in.debounced || !j.Replace || !slices.Equal(j.UniqueWhile, []State{Queued})) {
		return errors.New("Debounce says when the job is due, and what becomes of the other: leave In, At and UniqueWhile out")
	}
	missing := "nothing says what is unique: give Unique or UniqueArgs as well"
	switch {
	case in.unique == nil && j.UniqueFor > 0:
		return fmt.Errorf("UniqueFor(%v) says how long, and %s", j.UniqueFor, missing)
	case in.unique == nil && in.while:
		return fmt.Errorf("UniqueWhile says in which states, and %s", missing)
	case in.unique == nil && j.Replace:
		return fmt.Errorf("Replace says what becomes of the other job, and %s", missing)
	case in.while && len(j.UniqueWhile) == 0:
		return errors.New("UniqueWhile has no state: leave it out, or give NotUnique")
	case in.while && j.Replace && !slices.Contains(j.UniqueWhile, Queued):
		return errors.New("Replace changes a job that is queued, and UniqueWhile lets such a one keep nothing out: add Queued, or leave Replace out")
	}
	return nil
}

// maxDelay keeps times within what every database can store.
const maxDelay = 100 * 365 * 24 * time.Hour
