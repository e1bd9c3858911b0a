// Package demo is the command "meanwhile demo".
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/process"
)

// A Command has the flags of "meanwhile demo", filled in by kong.
type Command struct {
	Listen    string        `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Serve the dashboard at this loopback address; port 0 picks a free one (default ${default})."`
	Documents sizes         `default:"1000" placeholder:"N,…" help:"Index this many documents, up to 1,000; several sizes are separated by commas, as in 10,100,1000 (default ${default})."`
	Latency   time.Duration `default:"50ms" placeholder:"TIME" help:"Latency of each request to the search engine (default ${default})."`
	Exit      bool          `help:"Exit after the comparison."`
	Worker    bool          `hidden:"" help:"Be the process that does the work of one way."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Indexes doc comments of the Go standard library in a built-in search engine, in three ways: one by one in a loop, with durable
jobs on 3 workers, and with durable jobs as 1,000 concurrent tasks. Prints a comparison and a search result.

Each way runs in a process of its own, whose memory and CPU time are shown. To keep the demo short, only the 1,000 tasks index all documents. The loop and the 3 workers index a part of them, up to 40
and 120, and the times for all are extrapolated from it: these are marked with ~.

Nothing has to be installed: jobs and documents are in SQLite files in a temporary folder, which is removed at the end. After
the comparison the demo runs background jobs for the dashboard to show, until it is interrupted.

Ctrl-C stops it; a second one exits immediately.

Exit codes: 0 done, or interrupted after the comparison; 1 failed; 2 usage error; 130 interrupted before.`
}

const longestLatency = 10 * time.Second

// Run runs the demo. If the exit code is not 0, it exits the process.
func (c *Command) Run(streams probe.Streams) error {
	if err := c.check(); err != nil {
		return &probe.UsageError{Err: err}
	}
	if c.Worker {
		// Ctrl-C in a terminal interrupts this process, too: the demo decides when it ends.
		signal.Ignore(os.Interrupt)
		return runWorker(context.Background(), streams.In, streams.Out)
	}
	process.Main(func(ctx context.Context) error { return c.run(ctx, streams) }, meanwhile.Name("meanwhile"))
	return nil
}

// sizes are numbers of documents.
type sizes []int

// UnmarshalText parses numbers that are separated by commas.
func (s *sizes) UnmarshalText(text []byte) error {
	*s = nil
	for _, word := range strings.Split(string(text), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > corpus.Size {
			return fmt.Errorf("%.100q is not a number from 1 to %d", word, corpus.Size)
		}
		*s = append(*s, n)
	}
	return nil
}

// check reports invalid flags that kong cannot detect.
func (c *Command) check() error {
	if c.Latency < 0 || c.Latency > longestLatency {
		return fmt.Errorf("--latency: %v: give a time from 0s to %v", c.Latency, longestLatency)
	}
	host, err := settings.Address(c.Listen, "127.0.0.1:8080")
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if !loopback.IsHost(host) {
		return fmt.Errorf("--listen: %.100q can be reached by others, who could do anything: give a loopback address such as 127.0.0.1:8080", c.Listen)
	}
	return nil
}

func (c *Command) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return nil, fmt.Errorf("--listen: %s: %w: leave the flag out for a free port", c.Listen, op.Err)
	}
	return listener, err
}
