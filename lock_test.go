package meanwhile_test

import (
	"context"
	"reflect"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// strangeContext is a user's own context, each method of which waits until another goroutine has asked a task's ctx whether
// it is canceled.
type strangeContext struct {
	context.Context
	asks func(method string)
}

func (c strangeContext) Done() <-chan struct{} {
	c.asks("Done")
	return c.Context.Done()
}

func (c strangeContext) Err() error {
	c.asks("Err")
	return c.Context.Err()
}

func (c strangeContext) Value(key any) any {
	c.asks("Value")
	return c.Context.Value(key)
}

func (c strangeContext) AfterFunc(f func()) func() bool {
	c.asks("AfterFunc")
	return context.AfterFunc(c.Context, f)
}

// TestContextsAreAskedWithoutALock checks that no lock of a scope or task is held while methods of a user's own ctx are
// called: they may wait for a goroutine that asks the scope or the task.
func TestContextsAreAskedWithoutALock(t *testing.T) {
	var task atomic.Pointer[context.Context]
	var asked [2]atomic.Bool
	err := Run(t.Context(), func(scope context.Context) error {
		below, cancel := context.WithCancel(scope)
		defer cancel()
		var busy atomic.Bool
		strange := strangeContext{Context: pprof.WithLabels(below, pprof.Labels("request", "7")), asks: func(method string) {
			if !busy.CompareAndSwap(false, true) {
				return // called by the goroutine below
			}
			defer busy.Store(false)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				scope.Done()
				if ctx := task.Load(); ctx != nil {
					asked[1].Store(true)
					(*ctx).Done()
				}
			}()
			select {
			case <-answered:
				asked[0].Store(true)
			case <-time.After(10 * time.Second):
				t.Errorf("%s of the ctx was called with a lock of the scope or of the task held", method)
			}
		}}
		child := Async(strange, func(ctx context.Context) (int, error) {
			task.Store(&ctx)
			ctx.Done()
			cancel()
			<-ctx.Done()
			return 0, nil
		})
		_, err := child.Wait(scope)
		return err
	})
	if err != nil || !asked[0].Load() || !asked[1].Load() {
		t.Errorf("got %v; asked the scope: %v, the task: %v", err, asked[0].Load(), asked[1].Load())
	}
}

// mislabeledContext returns a value of an incomparable type when runtime/pprof reads the labels.
type mislabeledContext struct{ context.Context }

func (c mislabeledContext) Value(key any) any {
	if reflect.TypeOf(key).PkgPath() == "runtime/pprof" {
		return map[string]string{"request": "7"}
	}
	return c.Context.Value(key)
}

func TestMislabeledContext(t *testing.T) {
	err := Run(mislabeledContext{t.Context()}, func(scope context.Context) error {
		for range 2 {
			Go(mislabeledContext{scope}, func(context.Context) error { return nil })
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
