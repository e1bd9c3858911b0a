// Package work is the command "meanwhile work".
package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/process"
)

// A Command has the flags of "meanwhile work", filled in by kong.
type Command struct {
	jobs.Target
	Pool
	Drain  bool `help:"Exit when no job of the queues is due or running."`
	Silent bool `short:"s" help:"Print neither failed attempts nor a summary."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Runs jobs of kind http.request until it is interrupted. Each job is one request. A response with an expected status,
usually 200 to 299, completes the job and is its result, up to 16 KiB: see "meanwhile jobs show". Failures that may be temporary
are retried, up to 20 times within about a day; Retry-After is honored. Jobs of other
kinds are left to other workers.

Prints a line for each failed attempt. A request may be sent twice if the process crashes.

Ctrl-C waits up to 5 seconds for running requests, releases the others back to the queue and exits; a second one exits immediately.

Exit codes: 0 stopped, or drained and no job was discarded; 1 the worker failed, or with --drain jobs were discarded; 2 usage
error; 130 interrupted before --drain was done.`
}

// Run runs the worker. If the exit code is not 0, it exits the process.
func (c *Command) Run(streams probe.Streams) error {
	if err := c.Check(1); err != nil {
		return &probe.UsageError{Err: err}
	}
	log.SetOutput(io.Discard) // net/http logs what servers send behind their responses, between the attempts
	process.Main(func(ctx context.Context) error { return c.work(ctx, streams) }, meanwhile.Name("meanwhile"))
	return nil
}

var errDrained = errors.New("no job is due")

// work runs the worker until ctx is canceled or, with --drain, no job is due.
func (c *Command) work(ctx context.Context, streams probe.Streams) (err error) {
	s, err := c.Open(ctx, false)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := s.Ping(ctx); err != nil {
		return fmt.Errorf("store %s: %w", &c.Target, err)
	}
	r := &report{out: streams.Out, silent: c.Silent}
	worker := c.Worker(s, job.Config{Observe: r.observe, Logger: slog.New(slog.DiscardHandler)})

	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Drain {
		meanwhile.Go(stop, func(ctx context.Context) error {
			if c.awaitDrained(ctx, s) == nil {
				cancel(errDrained)
			}
			return nil
		}, meanwhile.Name("drain"), meanwhile.InBackground())
	}
	begun := time.Now()
	if !c.Silent {
		fmt.Fprintf(streams.Err, "Working on %s, %s; Ctrl-C stops.\n", &c.Target, c.Queues())
	}
	if err := worker.Run(stop); err != nil {
		return err
	}
	if !c.Silent {
		fmt.Fprintln(streams.Err, r.summary(time.Since(begun))+c.left(ctx, s))
	}
	switch {
	case !c.Drain:
		return nil
	case context.Cause(stop) != errDrained:
		return context.Cause(ctx)
	case r.discarded.Load() > 0:
		return &process.ExitError{Code: 1}
	}
	return nil
}
