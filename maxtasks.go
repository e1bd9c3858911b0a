package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// MaxTasks limits how many tasks of a scope run concurrently: those that [Go], [Async] and [Every] start with the scope's
// own ctx, or one that the context package derived from it. Pass it to [Run], [Supervise] or [Shield]. Tasks below those
// tasks do not count, nor do scopes and streams. The default is no limit.
//
// While n tasks run, Go and the others wait until one of the tasks has ended, in the order of the calls. When their ctx is
// canceled, even before the call, they return a task that has ended with ctx's error and cause, and whose function was not
// called. The tree shows what they wait for as "limit", with n.
//
// A task keeps its place until all tasks below it have ended, and between the attempts of [Retry]; a background task, such
// as that of Every, often until the scope ends. A task of the scope that calls Go with the scope's ctx keeps its place while
// it waits: when all n do so, none can continue. Let tasks start other tasks with their own ctx, which the limit does not
// count.
//
// It panics unless n is positive. Go panics when MaxTasks is passed to it.
func MaxTasks(n int) TaskOption {
	mustBePositive("MaxTasks", n)
	return maxTasksOption(n)
}

// maxTasksOf returns the limit of a scope, or zero for none.
func maxTasksOf(n *scope.Node) int {
	if places := n.Places(); places != nil {
		_, _, size := places.Usage()
		return size
	}
	return 0
}

// awaitPlace waits for a place among the tasks of a scope. It fails only when ctx is canceled, even if the cancellation
// itself has freed the place. A snapshot recognizes the wait by the name of this function.
//
//go:noinline
func awaitPlace(ctx context.Context, n *scope.Node, places *scope.Sem) error {
	if err := places.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := scope.CtxError(ctx); err != nil {
		places.Release(1)
		return err
	}
	n.TakesPlace()
	return nil
}
