package scope

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// TaskError is the failure of one task. Run, Supervise and [Task.Wait] return it for a task that failed; use
// [errors.As] to read the path and [errors.Is] to look for the error the task returned.
type TaskError struct {
	Path string // the names from the root of the tree to the task, joined by "/"
	Err  error  // what the task returned, or a *PanicError
}

// Error returns a text that says which task failed and why. The path of a failed task below is shortened to the part that follows the
// path of this task.
func (e *TaskError) Error() string { return e.TextBelow("") }

func (e *TaskError) TextBelow(path string) string {
	shown := e.Path
	if path != "" {
		if e.Path == path {
			return TextBelow(e.Err, path)
		}
		shown = strings.TrimPrefix(e.Path, path+"/")
	}
	return "task " + shown + ": " + TextBelow(e.Err, e.Path)
}

// A pathed error can leave out of its text the path of the task that is named before it.
type pathed interface{ TextBelow(path string) string }

// TextBelow returns the text of err to follow the name of the task with the given path. The error of another package has composed its
// text by itself, so that one is returned as it is.
func TextBelow(err error, path string) string {
	if e, ok := err.(pathed); ok {
		return e.TextBelow(path)
	}
	return fmt.Sprint(err)
}

// Unwrap returns what the task returned.
func (e *TaskError) Unwrap() error { return e.Err }

// Timeout reports whether the task failed because of a deadline, as the errors of package net do; [os.IsTimeout] asks it.
func (e *TaskError) Timeout() bool { return isTimeout(e.Err) }

// isTimeout reports whether err is a timeout: it asks the first error, of err and those that it wraps, that has a method Timeout.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// PanicError is the failure of a task, a stream item or a source that panicked.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // the stack of the goroutine that panicked, as [runtime/debug.Stack] prints it
}

// Error returns the panic's value and, below it, the stack where it happened.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the panic's value when it is an error, so that errors.Is finds a runtime.Error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ItemError is the failure of one item of a stream. The items after it are not affected.
type ItemError struct {
	Index int   // the item's place in the input, from 0
	Input any   // the item itself, as the function got it
	Err   error // what the function returned, or a *PanicError
}

// Error returns the item's index and its failure. It leaves out the input, which may be long, or a secret.
func (e *ItemError) Error() string { return e.TextBelow("") }

func (e *ItemError) TextBelow(path string) string {
	return fmt.Sprintf("item %d: %s", e.Index, TextBelow(e.Err, path))
}

// Unwrap returns what the function returned for the item.
func (e *ItemError) Unwrap() error { return e.Err }

// Timeout reports whether the item failed because of a deadline, as the errors of package net do.
func (e *ItemError) Timeout() bool { return isTimeout(e.Err) }

// ErrGoexit is the failure of a task, a stream item or a source that ended its goroutine by [runtime.Goexit] instead of
// returning.
var ErrGoexit = errors.New("the function called runtime.Goexit (testing's FailNow, Fatal and Skip do: " +
	"call them in the test's own goroutine)")

// maxFailures is how many failures a scope keeps; further ones are only counted.
const maxFailures = 100

// Failures are the failures of one scope, in the order in which they happened.
type Failures struct {
	errs []error
	more int // the number of those that were not kept
}

func (f *Failures) Add(err error) {
	if len(f.errs) == maxFailures {
		f.more++
		return
	}
	f.errs = append(f.errs, err)
}

// Join returns nil for no failure, the failure itself for one, and for several an error that leads with the first.
func (f Failures) Join() error {
	switch {
	case len(f.errs) == 0 && f.more == 0:
		return nil
	case len(f.errs) == 0:
		return fmt.Errorf("failures that were not kept: %d", f.more)
	case len(f.errs) == 1 && f.more == 0:
		return f.errs[0]
	}
	return &Joined{f}
}

// JoinFailures joins two failures, each of which may be nil.
func JoinFailures(first, second error) error {
	var f Failures
	for _, err := range []error{first, second} {
		if err != nil {
			f.Add(err)
		}
	}
	return f.Join()
}

type Joined struct{ Failures }

func (j *Joined) Error() string { return j.TextBelow("") }

func (j *Joined) TextBelow(path string) string {
	var b strings.Builder
	b.WriteString(TextBelow(j.errs[0], path))
	fmt.Fprintf(&b, " (and %d more", len(j.errs)-1+j.more)
	sep := ": "
	for _, err := range j.errs[1:] {
		b.WriteString(sep)
		b.WriteString(TextBelow(err, path))
		sep = "; "
	}
	if j.more > 0 {
		fmt.Fprintf(&b, "; %d not kept", j.more)
	}
	b.WriteString(")")
	return b.String()
}

func (j *Joined) Unwrap() []error { return j.errs }

// interrupted is an error met because of a cancellation, together with the cancellation's cause, so that a caller who
// looks for context.Canceled and a caller who looks for the cause both find it.
type interrupted struct{ err, cause error }

func (e *interrupted) Error() string { return e.TextBelow("") }

func (e *interrupted) TextBelow(path string) string {
	return TextBelow(e.err, path) + ": " + TextBelow(e.cause, path)
}

func (e *interrupted) Unwrap() []error { return []error{e.err, e.cause} }

func (e *interrupted) Timeout() bool { return isTimeout(e.err) }

// WithCause adds cause to err where err does not carry it yet.
func WithCause(err, cause error) error {
	if cause == nil || carries(err, cause) {
		return err
	}
	return &interrupted{err, cause}
}

// CtxError returns the error of a canceled ctx together with its cause, and nil for a live one.
func CtxError(ctx context.Context) error {
	mustNotBeNil(ctx)
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if n, ok := ctx.(*Node); ok {
		return n.Cancellation().Failure() // one for all tasks that it reaches
	}
	return WithCause(err, context.Cause(ctx))
}
