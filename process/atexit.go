package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// AtExit makes [Main] call fn when its scope has ended, before Main exits with any code or returns: after a failure, a
// panic, a signal, and also when the grace period is over or at QUIT, while tasks still run. It lets code that runs beside
// the tasks, such as a log handler, save its pending data. fn is not called after a second signal, nor if something else
// ends the process, such as os.Exit.
//
// The functions are called one after the other, the one registered last first. Together they have a second and a half,
// which, after the default grace period, fits into the 10 s that Docker waits. Each has an equal part of the remaining time:
// its ctx, which carries no task, ends after two thirds of the part, and when the part is over, the next function is called
// while this one keeps running. Errors and panics are printed to os.Stderr and do not change the exit code.
//
// The returned function unregisters fn; it does nothing if fn was already called. A program without Main must itself call
// the functions that it would register. AtExit panics when fn is nil. It may be called concurrently.
func AtExit(fn func(ctx context.Context) error) (cancel func()) {
	if fn == nil {
		panic("meanwhile: AtExit with a nil function: give the one to call at the exit")
	}
	e := &exit{fn: fn}
	if _, file, line, ok := runtime.Caller(1); ok {
		e.registered = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	atExit.mu.Lock()
	defer atExit.mu.Unlock()
	atExit.fns = append(atExit.fns, e)
	return e.cancel
}

const exitTime = 1500 * time.Millisecond // for all functions of AtExit

// atExit has the functions registered with AtExit.
var atExit struct {
	mu  sync.Mutex
	fns []*exit
}

type exit struct {
	fn         func(context.Context) error
	registered string // where it was registered
	over       atomic.Bool
}

// cancel unregisters e.
func (e *exit) cancel() {
	e.over.Store(true)
	atExit.mu.Lock()
	defer atExit.mu.Unlock()
	atExit.fns = slices.DeleteFunc(atExit.fns, func(other *exit) bool { return other == e })
}

// callAtExit calls the functions of AtExit and returns their errors. Functions that they register themselves are kept for
// the next Main.
func callAtExit() (errs []error) {
	atExit.mu.Lock()
	fns := atExit.fns
	atExit.fns = nil
	atExit.mu.Unlock()
	end := time.Now().Add(exitTime)
	for i, e := range slices.Backward(fns) {
		if e.over.Swap(true) {
			continue
		}
		part := time.Until(end) / time.Duration(i+1)
		if err := e.call(max(part, exitTime/100)); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// call calls the function and waits for it for at most the given time.
func (e *exit) call(within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), within*2/3, errExiting)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := scope.ErrUnreturned
		defer func() {
			if err == scope.ErrUnreturned {
				err = scope.Recovered(recover())
			}
			ended <- err
		}()
		err = e.fn(ctx)
	}()
	tooLong := time.NewTimer(within)
	defer tooLong.Stop()
	select {
	case err := <-ended:
		return err
	case <-tooLong.C:
		return fmt.Errorf("the function of %s has not returned within %v", e.registered, within.Round(time.Millisecond))
	}
}

var errExiting = errors.New("the process exits")
