package probe

import (
	"errors"
	"io"
	"time"
)

// A Target is what the commands that look at a program have in common, as kong fills it.
type Target struct {
	Address string        `arg:"" optional:"" default:"localhost:6060" help:"Address of the program: host:port, http://host:port/path or unix:/path/to/socket (default ${default}). Without a path it is /debug/meanwhile."`
	Timeout time.Duration `default:"10s" placeholder:"TIME" help:"Time for each request (default ${default})."`
}

// Client returns a client for the program. Its error is a [UsageError].
func (t *Target) Client() (*Client, error) {
	if t.Timeout <= 0 {
		return nil, &UsageError{errors.New("--timeout: give a positive time; nothing waits for ever")}
	}
	address, err := ParseAddress(t.Address)
	if err != nil {
		return nil, err
	}
	return NewClient(address, t.Timeout), nil
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A UsageError is a command that makes no sense or cannot begin.
type UsageError struct{ Err error }

// Error says what is wrong.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }
