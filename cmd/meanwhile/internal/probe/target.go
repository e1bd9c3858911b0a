package probe

import (
	"errors"
	"io"
	"time"
)

// A Target has the flags that the commands that inspect a program share, filled in by kong.
type Target struct {
	Address string        `arg:"" optional:"" default:"localhost:6060" help:"Address of the program: host:port, http://host:port/path or unix:/path/to/socket (default ${default}). Without a path it is /debug/meanwhile."`
	Timeout time.Duration `default:"10s" placeholder:"TIME" help:"Timeout of each request (default ${default})."`
}

// Client returns a client for the program. Its error is a [*UsageError].
func (t *Target) Client() (*Client, error) {
	if t.Timeout <= 0 {
		return nil, &UsageError{errors.New("--timeout: give a positive time; waiting forever is not supported")}
	}
	address, err := ParseAddress(t.Address)
	if err != nil {
		return nil, err
	}
	return NewClient(address, t.Timeout), nil
}

// Streams are the input and output of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A UsageError is the error of a command with invalid arguments, or one that cannot start.
type UsageError struct{ Err error }

// Error returns the text of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }
