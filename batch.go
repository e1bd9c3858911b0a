package meanwhile

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Batch groups the values of in: it yields a batch when it has size values, when wait has passed since its first value, or
// when in ends. A wait of zero means that there is no time limit. An error from in is yielded on its own, after a batch of
// the values before it. When ctx is canceled, the last thing yielded is its error with its cause. It panics unless size is
// positive and wait is not negative.
//
//go:noinline
func Batch[T any](ctx context.Context, in Stream[T], size int, wait time.Duration) Stream[[]T] {
	mustBePositive("Batch", size)
	if wait < 0 {
		panic("meanwhile: Batch with a wait of " + wait.String() + ": give a positive duration, or zero to wait for ever")
	}
	return func(yield func([]T, error) bool) {
		b := &batcher[T]{in: in, size: size, wait: wait, values: make(chan valued[T])}
		b.scope.Open(ctx, scope.KindStream, &scope.Settings{Name: "batch"})
		b.scope.ShowStream(b)
		if b.scope.Parent == nil {
			b.scope.Register()
		}
		defer func() { reportLost(&b.scope, b.lost) }()
		defer endWith(yield, &b.scope)()
		defer b.close()
		b.scope.TellStart()
		b.each(yield, Go(&b.scope, b.pull, Name("pull")))
	}
}

type valued[T any] struct {
	value T
	err   error
}

type batcher[T any] struct {
	scope   scope.Node
	in      Stream[T]
	size    int
	wait    time.Duration
	values  chan valued[T]
	failure error // the panic or Goexit of the source, until the loop receives it; written before values is closed
	sending atomic.Bool
	mu      sync.Mutex
	lost    []error // errors with panics that the loop did not receive
}

// notePanic records an error that the loop will not receive, if it contains a panic.
func (b *batcher[T]) notePanic(err error) {
	if hasNewPanic(&b.scope, err) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lost = append(b.lost, err)
	}
}

// Waits returns what the stream waits for: its loop, or its source, which runs in the task below it.
func (b *batcher[T]) Waits() (reason, on string) {
	if b.sending.Load() {
		return "full", ""
	}
	return "source", ""
}

func (b *batcher[T]) Awaited() string { return "" }

// pull runs the source and sends its values to the loop one at a time.
func (b *batcher[T]) pull(ctx context.Context) error {
	returned := false
	defer func() {
		if !returned {
			b.failure = scope.Recovered(recover())
		}
		close(b.values)
	}()
	yield := func(value T, err error) bool { return b.send(ctx, value, err) }
	defer register(yield, &b.scope)()
	b.in(yield)
	returned = true
	return nil
}

// send sends a value to the loop, and reports whether the loop received it. A snapshot recognizes this function by its name.
func (b *batcher[T]) send(ctx context.Context, value T, err error) bool {
	b.sending.Store(true)
	defer b.sending.Store(false)
	select {
	case b.values <- valued[T]{value, err}:
		return true
	case <-ctx.Done():
		b.notePanic(err)
		return false
	}
}

func (b *batcher[T]) each(yield func([]T, error) bool, pulling *Task[struct{}]) {
	var batch []T
	flush := func(err error) bool {
		full := batch
		batch = nil
		if len(full) > 0 && !yield(full, nil) {
			b.notePanic(err)
			return false
		}
		return err == nil || yield(nil, err)
	}
	pulled := pulling.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if len(batch) > 0 && b.wait > 0 {
			due = timer.C
		}
		select {
		case v, ok := <-b.values:
			switch {
			case !ok:
				flush(cmp.Or(b.takeFailure(), b.ended()))
				return
			case v.err != nil:
				if !flush(v.err) {
					return
				}
				continue
			}
			if len(batch) == 0 {
				timer.Reset(b.wait)
			}
			batch = append(batch, v.value)
			if len(batch) == b.size && !flush(nil) {
				return
			}
		case <-due:
			if !flush(nil) {
				return
			}
		case <-pulled: // values is closed as well, unless the observer kept the task from calling pull
			flush(cmp.Or(b.takeFailure(), pulling.n.Failure(), b.ended()))
			return
		case <-b.scope.Done():
			flush(b.ended())
			return
		}
	}
}

func (b *batcher[T]) takeFailure() error {
	err := b.failure
	b.failure = nil
	return err
}

// ended returns the error with which the stream was canceled, or nil if it was not canceled.
func (b *batcher[T]) ended() error {
	if c := b.scope.CatchUp(); c != nil { // it may not have arrived here yet
		return c.Failure()
	}
	return nil
}

// close is deferred around the loop. A panic or a Goexit of the source that the loop did not receive continues in the
// goroutine of the loop.
func (b *batcher[T]) close() {
	b.scope.CancelBecause(scope.ErrLoopEnded)
	b.scope.Join()
	if b.scope.Parent == nil {
		defer b.scope.Unregister()
	}
	if err := b.scope.Leave(nil); err != nil {
		panic(err)
	}
	raise(b.failure)
}
