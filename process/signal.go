package process

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// SignalError is the cause of a cancellation by a signal: see [Main].
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "stopped by signal " + e.Signal.String() }

// explains reports whether err consists only of the cancellation by the signal.
func (e *SignalError) explains(err error) bool {
	explained := true
	complete := scope.WalkErrors(err, func(err error, leaf bool) bool {
		_, panicked := err.(*meanwhile.PanicError)
		if panicked || leaf && err != error(e) && !errors.Is(err, context.Canceled) {
			explained = false
		}
		return !explained
	})
	return complete && explained
}

// OnSignal starts a background task that calls fn for each of the signals, until its scope ends, it is canceled, or fn
// returns [meanwhile.Stop]; any other error of fn is the failure of the task. The calls do not overlap: of the signals that
// arrive during a call, the first of each kind is kept. Once OnSignal has returned, the signals no longer have their usual
// effect, such as ending the process; when the task ends, they have it again. Other tasks and [Main] may wait for the same
// signals: each receives all of them.
//
// The task's name describes what it waits for, such as "on hangup". OnSignal panics without signals, with a nil fn, and
// where [meanwhile.Go] does.
//
// A task of OnSignal can be in a bubble of testing/synctest, but no signal can reach it: one that arrives ends the process,
// because the runtime lets nothing outside of a bubble use the bubble's channels. Also, the first use of package os/signal
// starts a goroutine, with which a bubble deadlocks: call signal.Notify in TestMain, so that this goroutine is not in a
// bubble.
func OnSignal(ctx context.Context, fn func(ctx context.Context, sig os.Signal) error, sigs ...os.Signal) *meanwhile.Task[struct{}] {
	if len(sigs) == 0 {
		panic("meanwhile: OnSignal without signals: name those to wait for, such as syscall.SIGHUP")
	}
	if fn == nil {
		panic("meanwhile: OnSignal with a nil function: give the one to call for each signal")
	}
	q := newSignalQueue(sigs)
	started := false
	defer func() {
		if !started {
			q.close()
		}
	}()
	t := meanwhile.Go(ctx, func(ctx context.Context) error {
		defer q.close()
		for {
			sig, err := q.next(ctx)
			if err != nil {
				return err
			}
			if err := fn(ctx, sig); err != nil {
				if scope.Stops(ctx, err, meanwhile.Stop) {
					return nil
				}
				return err
			}
		}
	}, meanwhile.InBackground(), meanwhile.Name(q.name))
	started = true
	select {
	case <-t.Done():
		q.close() // the scope had no place for the task, and did not call its function
	default:
	}
	return t
}

// A signalQueue keeps one signal of each kind: each kind has a channel with a buffer of one.
type signalQueue struct {
	name  string
	ended sync.Once
	kinds []chan os.Signal
	sigs  []os.Signal          // the signal of each kind
	cases []reflect.SelectCase // the end of the ctx, then the kinds
}

func newSignalQueue(sigs []os.Signal) *signalQueue {
	q := &signalQueue{cases: []reflect.SelectCase{{Dir: reflect.SelectRecv}}}
	var names []string
	for i, sig := range sigs {
		if slices.Contains(sigs[:i], sig) {
			continue
		}
		c := make(chan os.Signal, 1)
		signalWaiters.add(sig, 1)
		signal.Notify(c, sig)
		q.kinds = append(q.kinds, c)
		q.sigs = append(q.sigs, sig)
		q.cases = append(q.cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
		names = append(names, sig.String())
	}
	q.name = "on " + strings.Join(names, ", ")
	return q
}

// next waits for a signal. A snapshot recognizes the wait by the name of this function.
//
//go:noinline
func (q *signalQueue) next(ctx context.Context) (os.Signal, error) {
	q.cases[0].Chan = reflect.ValueOf(ctx.Done())
	_, value, _ := reflect.Select(q.cases)
	if err := scope.CtxError(ctx); err != nil {
		return nil, err
	}
	return value.Interface().(os.Signal), nil
}

// close gives the signals their usual effect again. It may be called more than once.
func (q *signalQueue) close() {
	q.ended.Do(func() {
		for i, c := range q.kinds {
			signal.Stop(c)
			signalWaiters.add(q.sigs[i], -1)
		}
	})
}

// signalWaiters counts the tasks of OnSignal by their signals. For some signals, Main ends the process only if no task waits
// for them.
var signalWaiters signalCount

type signalCount struct {
	mu    sync.Mutex
	tasks map[os.Signal]int
}

func (c *signalCount) add(sig os.Signal, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks == nil {
		c.tasks = make(map[os.Signal]int)
	}
	c.tasks[sig] += by
}

func (c *signalCount) has(sig os.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tasks[sig] > 0
}
