package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/engine"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/process"
)

const exitSignaled = 128 // plus the signal number

// A demo is one run of the command.
type demo struct {
	address   string            // of the dashboard
	file      string            // of the jobs
	documents []corpus.Document // documents of the current size
	latency   time.Duration
	console   console
	store     job.Store
	engine    *gauge
	client    *client
}

// run runs the demo in its own folder, which it removes at the end in any case.
func (c *Command) run(ctx context.Context, streams probe.Streams) (err error) {
	all, err := corpus.Documents()
	if err != nil {
		return err
	}
	listener, err := c.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	folder, err := os.MkdirTemp("", "meanwhile-demo-")
	if err != nil {
		return err
	}
	console := newConsole(streams)
	defer func() {
		removed := os.RemoveAll(folder)
		if err = errors.Join(err, removed); ctx.Err() != nil && removed == nil {
			console.line("\nInterrupted. %s is removed.", folder)
		}
	}()
	file := filepath.Join(folder, "jobs.db")
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	search := engine.New(engine.Config{Folder: folder, Latency: c.Latency})
	defer func() { err = errors.Join(err, search.Close()) }()

	d := &demo{
		address: "http://" + listener.Addr().String() + "/", file: file,
		latency: c.Latency, console: console, store: store,
		engine: &gauge{next: search}, client: newClient(listener.Addr().String(), c.Latency),
	}
	defer d.client.close()
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		// A closed terminal and a closed output end the demo as Ctrl-C does, or its folder would not be removed.
		work, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		process.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
			stop(&process.ExitError{Code: exitSignaled + int(sig.(syscall.Signal)), Err: fmt.Errorf("stopped by signal %v", sig)})
			return nil
		}, syscall.SIGHUP, syscall.SIGPIPE)
		d.serve(ctx, listener)
		if err := d.show(work, all, c.Documents); err != nil || c.Exit {
			return err
		}
		d.console.line("\nBackground jobs are running: see the dashboard at\n%s\nCtrl-C stops the demo and removes %s.", d.address, folder)
		if err := d.goOn(work); work.Err() == nil {
			return err
		}
		return nil // it was interrupted after the table, which is not a failure
	}, meanwhile.Name("demo"))
}

// spread selects n documents at even distances.
func spread(all []corpus.Document, n int) []corpus.Document {
	some := make([]corpus.Document, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// show compares the variants for each number of documents, the smallest first, and searches the last index.
func (d *demo) show(ctx context.Context, all []corpus.Document, sizes []int) error {
	d.console.line("Dashboard: %s", d.address)
	sizes = slices.Compact(slices.Sorted(slices.Values(sizes)))
	for _, size := range sizes {
		d.documents = spread(all, size)
		if err := d.compare(ctx); err != nil {
			return err
		}
	}
	return d.search(ctx)
}

// compare indexes the documents with each of the three variants, and shows their measurements.
func (d *demo) compare(ctx context.Context) error {
	d.console.line("%s of the Go standard library are indexed.\nThe search engine, at %s, takes %v for each request.\n", probe.Count(len(d.documents), "doc comment"), enginePath, d.latency)
	var all []figures
	for _, w := range d.variants() {
		f, err := d.index(ctx, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("index documents, %s: %w", w.name, err)
		}
		all = append(all, f)
	}
	d.console.print("\n" + table(all) + "\n")
	return nil
}
