// Shutdown shows a graceful shutdown. It is a small server that serves pages, counts the visits, and writes the count to disk
// ten times a second. A part that is not essential fails, and the rest continues. Then the program is interrupted, as by
// Ctrl-C, in the middle of a request: the request is completed, the count is written a last time, and main continues when
// every task has ended.
//
// It prints the events in order, about 700 ms in all:
//
//	100 ms  failed, alone: task program/parts/adviser: panic: no advice today
//	200 ms  running: server, writer, visitor
//	300 ms  a visitor asks for a page that takes 300 ms
//	400 ms  interrupted: stopped by signal interrupt
//	600 ms  the visitor got: welcome
//	670 ms  the server is closed
//	670 ms  written a last time: visits 1
//	670 ms  main goes on
//
// The program interrupts itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/process"
)

const grace = 2 * time.Second // for each thing that must still be done after an interruption

func main() {
	process.Config{Grace: 2 * grace}.Main(run, meanwhile.Name("program"))
	say("main goes on")
}

func run(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		var visits atomic.Int64
		server := meanwhile.Go(ctx, func(ctx context.Context) error {
			return serve(ctx, listener, &visits)
		}, meanwhile.Name("server"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return write(ctx, &visits, server)
		}, meanwhile.Name("writer"))
		adviser := meanwhile.Go(ctx, func(ctx context.Context) error {
			if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			panic("no advice today")
		}, meanwhile.Name("adviser"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := adviser.Wait(ctx) // a failure that Wait returns counts as handled: it is not a failure of the program
			say("failed, alone: %s", firstLine(err))
			return nil
		}, meanwhile.Name("doctor"))

		return simulate(ctx, "http://"+listener.Addr().String())
	}, meanwhile.Name("parts"))
}

// serve serves until ctx is canceled, and then lets the running requests end.
func serve(ctx context.Context, listener net.Listener, visits *atomic.Int64) error {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if meanwhile.Sleep(r.Context(), 300*time.Millisecond) == nil {
			visits.Add(1)
			fmt.Fprint(w, "welcome")
		}
	})}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return meanwhile.Shield(ctx, grace, server.Shutdown)
	}, meanwhile.Name("closer"))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// write records the count. When ctx is canceled it waits for the last visits, and records them as well.
func write(ctx context.Context, visits *atomic.Int64, server *meanwhile.Task[struct{}]) error {
	var written atomic.Int64 // stands for the file of a real program
	meanwhile.Every(ctx, 100*time.Millisecond, func(context.Context) error {
		written.Store(visits.Load())
		return nil
	}, meanwhile.Name("every 100 ms"))
	<-ctx.Done()
	return meanwhile.Shield(ctx, grace, func(ctx context.Context) error {
		select {
		case <-server.Done():
			say("the server is closed")
		case <-ctx.Done():
			say("the server takes too long")
		}
		written.Store(visits.Load())
		say("written a last time: visits %d", written.Load())
		return nil
	})
}

// simulate does what users and operators do.
func simulate(ctx context.Context, url string) error {
	meanwhile.Go(ctx, func(ctx context.Context) error {
		if err := meanwhile.Sleep(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		say("a visitor asks for a page that takes 300 ms")
		body, err := get(context.WithoutCancel(ctx), url) // the visitor is not interrupted
		if err != nil {
			return err
		}
		say("the visitor got: %s", body)
		return nil
	}, meanwhile.Name("visitor"))

	if err := meanwhile.Sleep(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	var running []string
	for _, task := range inspect.Tree(ctx).Tasks {
		running = append(running, task.Name)
	}
	say("running: %s", strings.Join(running, ", "))

	if err := meanwhile.Sleep(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Signal(os.Interrupt); err != nil {
		return err
	}
	<-ctx.Done()
	say("interrupted: %v", context.Cause(ctx))
	return nil
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

var start = time.Now()

func say(format string, args ...any) {
	ms := time.Since(start).Round(10 * time.Millisecond).Milliseconds()
	fmt.Printf("%3d ms  %s\n", ms, fmt.Sprintf(format, args...))
}

// firstLine removes the stack of a panic.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
