package logs

import "errors"

// Errors of stores and of a [Sender], to be compared with errors.Is.
var (
	ErrFull   = errors.New("no room for more records") // the disk, or the buffer of a Sender, is full
	ErrClosed = errors.New("closed")                   // Close was called
)
