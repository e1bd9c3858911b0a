package meanwhile

import "github.com/meanwhile-go/meanwhile/internal/scope"

// TaskError is the failure of one task. Run, Supervise and [Task.Wait] return it for a task that failed; use
// [errors.As] to read the path and [errors.Is] to look for the error the task returned.
//
//	type TaskError struct {
//		Path string // the names from the root of the tree to the task, joined by "/"
//		Err  error  // what the task returned, or a *PanicError
//	}
type TaskError = scope.TaskError

// PanicError is the failure of a task, a stream item or a source that panicked.
//
//	type PanicError struct {
//		Value any    // what panic was called with
//		Stack []byte // the stack of the goroutine that panicked, as [runtime/debug.Stack] prints it
//	}
type PanicError = scope.PanicError

// ItemError is the failure of one item of a stream. The items after it are not affected.
//
//	type ItemError struct {
//		Index int   // the item's place in the input, from 0
//		Input any   // the item itself, as the function got it
//		Err   error // what the function returned, or a *PanicError
//	}
type ItemError = scope.ItemError

// ErrGoexit is the failure of a task, a stream item or a source that ended its goroutine by [runtime.Goexit] instead of
// returning.
var ErrGoexit = scope.ErrGoexit
