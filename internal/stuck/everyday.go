package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"golang.org/x/sync/errgroup"
	weighted "golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

func init() {
	know(
		stuckCase{name: "net-pipe", start: netPipe, want: []want{{path: "waiter", wait: "select", at: "net-pipe"}}},
		stuckCase{name: "io-pipe", start: ioPipe, want: []want{
			{path: "reader", wait: "select", at: "io-pipe-read"},
			{path: "writer", wait: "select", at: "io-pipe-write"},
		}},
		stuckCase{name: "ticker", start: ticker, want: []want{
			{path: "ticker", wait: "receive", at: "ticker"},
			{path: "timer", wait: "select", at: "timer-select"},
		}},
		stuckCase{name: "notify", start: notify, want: []want{{path: "waiter", wait: "receive", at: "notify"}}},
		stuckCase{name: "context-after", start: contextAfter, want: []want{
			{path: "waiter", wait: "receive", at: "context-after"},
		}, also: []string{"context-after-func"}},
		stuckCase{name: "errgroup", start: errGroup, want: []want{
			{path: "waiter", wait: "waitgroup", at: "errgroup"},
			{path: "limited", wait: "send", at: "errgroup-limit"},
		}},
		stuckCase{name: "singleflight", start: singleFlight, want: []want{
			{path: "first", wait: "receive", at: "singleflight-first"},
			{path: "second", wait: "waitgroup", at: "singleflight"},
		}},
		stuckCase{name: "x-semaphore", start: otherSemaphore, want: []want{
			{path: "waiter", wait: "semaphore", at: "x-semaphore"},
		}},
		stuckCase{name: "log-pipe", start: logPipe, want: []want{{path: "waiter", wait: "file", on: "write", at: "log-pipe"}}},
		stuckCase{name: "spin", start: spin, want: []want{
			{path: "yield", wait: "running", at: "spin-yield", anyPlace: true},
			{path: "select", wait: "running", at: "spin-select", anyPlace: true},
		}},
		stuckCase{name: "sync-more", start: syncMore, want: []want{
			{path: "once", wait: "once", at: "once-func"},
			{path: "group", wait: "waitgroup", at: "waitgroup-go"},
		}},
	)
}

func netPipe(ctx context.Context) error {
	near, far := net.Pipe()
	hold(far)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.ReadAll(near) // stuck: net-pipe
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func ioPipe(ctx context.Context) error {
	r, w := io.Pipe()
	hold(w)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.ReadAll(r) // stuck: io-pipe-read
		return err
	}, meanwhile.Name("reader"))
	far, near := io.Pipe()
	hold(far)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := fmt.Fprintln(near, "hello") // stuck: io-pipe-write
		return err
	}, meanwhile.Name("writer"))
	return nil
}

func ticker(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		for range time.Tick(time.Hour) { // stuck: ticker
		}
		return nil
	}, meanwhile.Name("ticker"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		timer := time.NewTimer(time.Hour)
		defer timer.Stop()
		select { // stuck: timer-select
		case <-timer.C:
		case <-ctx.Done():
		}
		return nil
	}, meanwhile.Name("timer"))
	return nil
}

func notify(ctx context.Context) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	meanwhile.Go(ctx, func(context.Context) error {
		<-signals // stuck: notify
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

// contextAfter cancels a ctx whose AfterFunc waits for a lock.
func contextAfter(ctx context.Context) error {
	var mu sync.Mutex
	mu.Lock()
	never := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		stop := context.AfterFunc(ctx, func() {
			mu.Lock() // stuck: context-after-func
			defer mu.Unlock()
		})
		defer stop()
		cancel()
		<-never // stuck: context-after
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func errGroup(ctx context.Context) error {
	never := make(chan int)
	wait := func() error {
		<-never
		return nil
	}
	meanwhile.Go(ctx, func(context.Context) error {
		var g errgroup.Group
		g.Go(wait)
		return g.Wait() // stuck: errgroup
	}, meanwhile.Name("waiter"))
	meanwhile.Go(ctx, func(context.Context) error {
		var g errgroup.Group
		g.SetLimit(1)
		g.Go(wait)
		g.Go(wait) // stuck: errgroup-limit
		return g.Wait()
	}, meanwhile.Name("limited"))
	return nil
}

func singleFlight(ctx context.Context) error {
	var flights singleflight.Group
	begun, never := make(chan int), make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err, _ := flights.Do("key", func() (any, error) {
			close(begun)
			<-never // stuck: singleflight-first
			return nil, nil
		})
		return err
	}, meanwhile.Name("first"))
	meanwhile.Go(ctx, func(context.Context) error {
		<-begun
		_, err, _ := flights.Do("key", func() (any, error) { return nil, nil }) // stuck: singleflight
		return err
	}, meanwhile.Name("second"))
	return nil
}

func otherSemaphore(ctx context.Context) error {
	s := weighted.NewWeighted(1)
	if err := s.Acquire(ctx, 1); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return s.Acquire(ctx, 1) // stuck: x-semaphore
	}, meanwhile.Name("waiter"))
	return nil
}

// logPipe logs to a pipe that is not read.
func logPipe(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(r)
	logger := slog.New(slog.NewTextHandler(w, nil))
	long := strings.Repeat("x", 1<<20)
	meanwhile.Go(ctx, func(context.Context) error {
		logger.Info(long) // stuck: log-pipe
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func spin(ctx context.Context) error {
	never := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			runtime.Gosched() // stuck: spin-yield
		}
	}, meanwhile.Name("yield"))
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			select {
			case <-never: // stuck: spin-select
				return nil
			//lint:ignore SA5004 that it spins is the bug that it shows
			default:
			}
		}
	}, meanwhile.Name("select"))
	return nil
}

func syncMore(ctx context.Context) error {
	begun, never := make(chan int), make(chan int)
	once := sync.OnceFunc(func() {
		close(begun)
		<-never
	})
	go once()
	meanwhile.Go(ctx, func(context.Context) error {
		<-begun
		once() // stuck: once-func
		return nil
	}, meanwhile.Name("once"))
	meanwhile.Go(ctx, func(context.Context) error {
		var g sync.WaitGroup
		g.Go(func() { <-never })
		g.Wait() // stuck: waitgroup-go
		return nil
	}, meanwhile.Name("group"))
	return nil
}
