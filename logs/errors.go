package logs

import "errors"

// Errors of stores and of a [Sender], to be compared with errors.Is.
var (
	ErrFull   = errors.New("no room for more records") // on disk; the caller reports what was not kept
	ErrClosed = errors.New("closed")
)
