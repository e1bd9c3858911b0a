package process

import (
	"errors"
	"strconv"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// ExitError is an error that determines how [Main] exits. It may be wrapped, or be the failure of any task.
type ExitError struct {
	Code int   // the exit code; Unix uses it modulo 256, and Main exits with 1 if that would make a failure 0
	Err  error // the error to print; nil prints nothing, unless other failures were joined with this one
}

// Error returns the text of Err, or the code when Err is nil.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return "exit code " + strconv.Itoa(e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Exit codes that are not determined by an ExitError.
const (
	exitFailed   = 1
	exitPanicked = 2
	exitTimedOut = 124
	exitSignaled = 128 // plus the signal's number
)

// conclude prints the error, if there is one to print, and returns the exit code.
func (p *process) conclude(err error) int {
	code, silent := p.exitCode(err)
	if !silent {
		p.print(err.Error())
	}
	return code
}

func (p *process) exitCode(err error) (code int, silent bool) {
	if err == nil {
		return 0, true
	}
	if exit, ok := scope.As[*ExitError](err); ok {
		code = exit.Code
		if code != 0 && code%256 == 0 {
			code = exitFailed
		}
		return code, exit.Err == nil && isAlone(exit, err)
	}
	if s := p.stopped; s != nil && s.explains(err) {
		return exitSignaled + signalNumber(s.Signal), true
	}
	if _, ok := scope.As[*meanwhile.PanicError](err); ok {
		return exitPanicked, false
	}
	return exitFailed, false
}

// isAlone reports whether no other failure was joined with exit on its way up.
func isAlone(exit *ExitError, err error) bool {
	for err != nil && err != error(exit) {
		err = errors.Unwrap(err)
	}
	return err != nil
}
