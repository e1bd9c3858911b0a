// Command polyglot runs jobs in programs in other languages: it serves a store over HTTP, enqueues jobs, starts a worker in Python, one in
// Node and one in Ruby, waits for their results, and stops them. It leaves out a language that is not installed.
//
//	go run ./examples/polyglot
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/process"
)

var (
	//go:embed worker.py
	workerPy string
	//go:embed worker.js
	workerJS string
	//go:embed worker.rb
	workerRb string
)

type text struct {
	Text string `json:"text"`
}

// A language has a worker that handles one kind of jobs, which a program in Go must define to enqueue jobs.
type language struct {
	program string
	flag    string // the flag before the text of a program
	worker  string
	kind    *job.Kind[text]
}

var languages = []language{
	{"python3", "-c", workerPy, job.Define[text]("words.count")},
	{"node", "-e", workerJS, job.Define[text]("text.hash")},
	{"ruby", "-e", workerRb, job.Define[text]("text.title")},
}

func main() {
	process.Main(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return run(ctx, os.Stdout, installed(os.Stdout))
	})
}

// installed returns the languages whose program is installed, and prints those whose program is not.
func installed(out io.Writer) []language {
	return slices.DeleteFunc(slices.Clone(languages), func(l language) bool {
		_, err := exec.LookPath(l.program)
		if err != nil {
			fmt.Fprintf(out, "%-12s skipped: install %s to run its worker\n", l.kind.Name(), l.program)
		}
		return err != nil
	})
}

// run serves a store to a worker in each of the languages, and prints their results.
func run(ctx context.Context, out io.Writer, languages []language) error {
	store := memory.New()
	defer store.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	jobs := api.New(api.Config{Store: store})
	server := &http.Server{Handler: jobs, ReadHeaderTimeout: 10 * time.Second}
	url := "http://" + listener.Addr().String() + api.Prefix
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return serve(ctx, server, listener) }, meanwhile.Name("server"), meanwhile.InBackground())
		return meanwhile.Run(ctx, func(ctx context.Context) error {
			for _, l := range languages {
				meanwhile.Go(ctx, worker(url, l.program, l.flag, l.worker), meanwhile.Name(l.program), meanwhile.InBackground())
			}
			return results(ctx, out, store, languages)
		})
	})
}

// serve serves until ctx is canceled. Then waiting claims are answered.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	<-down
	return nil
}

// worker runs a worker until ctx is canceled, and then stops it gracefully.
func worker(url, program string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		command := exec.CommandContext(ctx, program, args...)
		command.Env = append(os.Environ(), "URL="+url)
		command.Stderr = os.Stderr
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		command.WaitDelay = 5 * time.Second
		if err := command.Run(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("worker %s: %w", program, err)
		}
		return nil
	}
}

// results enqueues a few jobs for each worker, and prints their results.
func results(ctx context.Context, out io.Writer, store job.Store, languages []language) error {
	for _, line := range []string{"one", "one two", "in other words"} {
		for _, l := range languages {
			enqueued, err := l.kind.Enqueue(ctx, store, text{line})
			if err != nil {
				return err
			}
			var result json.RawMessage
			if err := l.kind.Await(ctx, store, enqueued.ID, &result); err != nil {
				return err
			}
			done, err := job.Find(ctx, store, enqueued.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-12s %-16q %s, by %s\n", done.Kind, line, result, done.Worker)
		}
	}
	return nil
}
