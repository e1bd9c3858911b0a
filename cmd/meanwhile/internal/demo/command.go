// Package demo is the command "meanwhile demo".
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
)

// A Command is what "meanwhile demo" was asked for, as kong fills it.
type Command struct {
	Listen    string        `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Serve at this loopback address; port 0 is a free one (default ${default})."`
	Documents int           `default:"1000" placeholder:"N" help:"Index so many documents, up to 1,000 (default ${default})."`
	Latency   time.Duration `default:"50ms" placeholder:"TIME" help:"Let the search engine take so long for each request (default ${default})."`
	Exit      bool          `help:"Exit when the documents are indexed."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Indexes doc comments of the Go standard library into a small search engine of its own, three times: one after the
other, by jobs that 3 workers run, and by jobs that run as 1,000 tasks. Prints what each took, and what a search finds. Where
that would be slow, only a part is indexed and the rest extrapolated; what is, is marked.

It needs nothing: jobs and documents are in SQLite files, in a folder that is removed at the end. It goes on with some work to
look at until it is interrupted.

Ctrl-C stops it; a second one exits at once.

Exit codes: 0 all done, also when interrupted after that; 1 not able to; 2 not understood; 130 interrupted before.`
}

const longestLatency = 10 * time.Second

// Run runs the demo. When the exit code is not 0 it exits.
func (c *Command) Run(streams inspect.Streams) error {
	if err := c.check(); err != nil {
		return &inspect.UsageError{Err: err}
	}
	meanwhile.Main(func(ctx context.Context) error { return c.run(ctx, streams) }, meanwhile.Name("meanwhile"))
	return nil
}

// check finds what kong cannot know to be wrong.
func (c *Command) check() error {
	switch {
	case c.Documents < 1 || c.Documents > corpus.Size:
		return fmt.Errorf("--documents: give a number from 1 to %d", corpus.Size)
	case c.Latency < 0 || c.Latency > longestLatency:
		return fmt.Errorf("--latency: give a time from 0s to %v", longestLatency)
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %.100q is no address such as 127.0.0.1:8080", c.Listen)
	}
	if !isLoopback(host) {
		return fmt.Errorf("--listen: %.100q is open to others, who could do anything: give a loopback address such as 127.0.0.1:8080", c.Listen)
	}
	return nil
}

// isLoopback reports whether a host, as it stands in an address, is this machine and nothing else.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

func (c *Command) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return nil, fmt.Errorf("--listen: %s: %w: leave the flag out for a free port", c.Listen, op.Err)
	}
	return listener, err
}
