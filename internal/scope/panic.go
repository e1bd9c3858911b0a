package scope

import (
	"errors"
	"runtime/debug"
)

// ErrUnreturned is the error of a function until it returns: where it is still set, the function panicked or called Goexit. Programs
// never get it.
var ErrUnreturned = errors.New("the function has not returned")

// Recovered returns the error of a function that did not return; r is the result of recover, which is nil after Goexit. The panic of a
// stream's source arrives here a second time, from the loop over the stream: it keeps its first stack.
func Recovered(r any) error {
	if r == nil {
		return ErrGoexit
	}
	if p, ok := r.(*PanicError); ok {
		return p
	}
	return &PanicError{Value: r, Stack: debug.Stack()}
}

// panicked is the error of a task's own panic until judge has seen it: whatever the value is, it is a failure.
type panicked struct{ *PanicError }

// NewPanic is Recovered for the function of a task.
func NewPanic(r any) error {
	err := Recovered(r)
	if p, ok := err.(*PanicError); ok {
		return &panicked{p}
	}
	return err
}

// Unreturned is called with the result of recover when the function of a task has not returned. It returns a panic as an error. After
// Goexit, nothing else runs in the goroutine, so it ends the task.
func (n *Node) Unreturned(r any) error {
	if r == nil {
		n.Finish(ErrGoexit)
		return ErrGoexit
	}
	return NewPanic(r)
}
