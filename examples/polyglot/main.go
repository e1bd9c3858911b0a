// Command polyglot has jobs run by programs in two other languages: it serves a store over HTTP, enqueues jobs, starts a worker in
// Python and one in Node, waits for what they return, and has them end.
//
//	go run ./examples/polyglot
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/process"
)

// The workers know their kinds; a program that enqueues names them.
type text struct {
	Text string `json:"text"`
}

var (
	countWords = job.Define[text]("words.count") // in Python
	hashText   = job.Define[text]("text.hash")   // in Node
)

var (
	//go:embed worker.py
	workerPy string
	//go:embed worker.js
	workerJS string
)

func main() {
	for _, program := range []string{"python3", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Printf("There is no %s here, in which a worker is written: nothing is run.\n", program)
			return
		}
	}
	process.Main(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		return run(ctx)
	})
}

func run(ctx context.Context) error {
	store := memory.New()
	defer store.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	jobs := api.New(api.Config{Store: store})
	server := &http.Server{Handler: jobs, ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(jobs.Stop)
	url := "http://" + listener.Addr().String() + api.Prefix
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return serve(ctx, server, listener) }, meanwhile.Name("server"), meanwhile.InBackground())
		return meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, worker(url, "python3", "-c", workerPy), meanwhile.Name("worker.py"), meanwhile.InBackground())
			meanwhile.Go(ctx, worker(url, "node", "-e", workerJS), meanwhile.Name("worker.js"), meanwhile.InBackground())
			return results(ctx, store)
		})
	})
}

// serve serves until ctx is canceled. Claims that wait are answered then.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})()
	_ = server.Serve(listener)
	return nil
}

// worker runs a worker until ctx is canceled, and has it end gracefully then.
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

// results enqueues a few jobs for each worker, and shows what they return.
func results(ctx context.Context, store job.Store) error {
	for _, line := range []string{"one", "one two", "in other words"} {
		for _, kind := range []*job.Kind[text]{countWords, hashText} {
			enqueued, err := kind.Enqueue(ctx, store, text{line})
			if err != nil {
				return err
			}
			var result json.RawMessage
			if err := kind.Await(ctx, store, enqueued.ID, &result); err != nil {
				return err
			}
			done, err := job.Find(ctx, store, enqueued.ID)
			if err != nil {
				return err
			}
			fmt.Printf("%-12s %-16q %s, by %s\n", done.Kind, line, result, done.Worker)
		}
	}
	return nil
}
