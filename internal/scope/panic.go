package scope

import (
	"errors"
	"runtime/debug"
)

// ErrUnreturned stands for the error of a function until it returns: where it is still found, the function panicked or
// called Goexit. It never leaves the package.
var ErrUnreturned = errors.New("the function has not returned")

// Recovered is the error of a function that did not return; r is what recover says, nil after Goexit. The panic of a
// stream's source comes here a second time, from the loop over the stream: it keeps its stack.
func Recovered(r any) error {
	if r == nil {
		return ErrGoexit
	}
	if p, ok := r.(*PanicError); ok {
		return p
	}
	return &PanicError{Value: r, Stack: debug.Stack()}
}

// panicked is the error of a task's own panic until that is judged: whatever the value is, it is a failure.
type panicked struct{ *PanicError }

// NewPanic is recovered for the function of a task.
func NewPanic(r any) error {
	err := Recovered(r)
	if p, ok := err.(*PanicError); ok {
		return &panicked{p}
	}
	return err
}

// Unreturned is called when the function of a task has not returned, with what recover said. It makes an error of a panic.
// After Goexit, which nothing follows in the goroutine, it ends the task.
func (n *Node) Unreturned(r any) error {
	if r == nil {
		n.Finish(ErrGoexit)
		return ErrGoexit
	}
	return NewPanic(r)
}
