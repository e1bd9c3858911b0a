//go:build unix

// Ratios compares the processor time of tasks with that of errgroup: both run in turns in one process, and each round is one ratio, so
// that other load on the machine affects both alike. It prints the rows of a table of docs/benchmarks-method.md: the median and the
// worst of the ratios.
//
//	go run ./ratios
//	GOMAXPROCS=1 taskset -c 1 go run ./ratios -rounds 15
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"golang.org/x/sync/errgroup"
)

// A runner runs a task n times at once and returns the first failure.
type runner = func(ctx context.Context, n int, task func(ctx context.Context, i int) error) error

func withErrgroup(ctx context.Context, n int, task func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return task(ctx, i) })
	}
	return g.Wait()
}

func withTasks(ctx context.Context, n int, task func(context.Context, int) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for i := range n {
			meanwhile.Go(ctx, func(ctx context.Context) error { return task(ctx, i) })
		}
		return nil
	})
}

// withChannels is errgroup with a channel for the result of each task.
func withChannels(ctx context.Context, n int, task func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	results := make([]chan int, n)
	for i := range n {
		results[i] = make(chan int, 1)
		g.Go(func() error {
			err := task(ctx, i)
			if err == nil {
				results[i] <- i
			}
			return err
		})
	}
	for i, result := range results {
		select {
		case got := <-result:
			if got != i {
				return errWrong
			}
		case <-ctx.Done():
		}
	}
	return g.Wait()
}

func withAsync(ctx context.Context, n int, task func(context.Context, int) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		tasks := make([]*meanwhile.Task[int], n)
		for i := range n {
			tasks[i] = meanwhile.Async(ctx, func(ctx context.Context) (int, error) { return i, task(ctx, i) })
		}
		for i, t := range tasks {
			if got, err := t.Wait(ctx); err != nil || got != i {
				return errors.Join(err, errWrong)
			}
		}
		return nil
	})
}

var (
	errWrong = errors.New("a wrong result")
	errStop  = errors.New("stop")
)

// A measurement returns the processor time that one round took.
type measurement func() (time.Duration, error)

// spawn starts n tasks that do nothing and waits for them, and repeats this several times.
func spawn(run runner, ctx context.Context, n, times int) measurement {
	return func() (time.Duration, error) {
		begun := processorTime()
		for range times {
			if err := run(ctx, n, func(context.Context, int) error { return nil }); err != nil {
				return 0, err
			}
		}
		return processorTime() - begun, nil
	}
}

// cancel cancels 100,000 waiting tasks, by their parent or by the failure of one, and waits for them.
func cancel(run runner, wait func(ctx context.Context) error, byFailure bool) measurement {
	const n = 100_000
	return func() (time.Duration, error) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		failing, returned := make(chan struct{}), make(chan error, 1)
		var ready sync.WaitGroup
		ready.Add(n + 1)
		go func() {
			returned <- run(ctx, n+1, func(ctx context.Context, i int) error {
				ready.Done()
				if i == 0 {
					select {
					case <-failing:
						return errStop
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return wait(ctx)
			})
		}()
		ready.Wait()
		time.Sleep(50 * time.Millisecond) // until the last of them is waiting
		runtime.GC()
		begun := processorTime()
		if byFailure {
			close(failing)
		} else {
			cancel(errStop)
		}
		<-returned
		return processorTime() - begun, nil
	}
}

func waitForDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func sleepAnHour(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }

func timerOfAnHour(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const items = 100_000

func double(_ context.Context, i int) (int, error) { return 2 * i, nil }

func mapErrgroup(limit int) measurement {
	return func() (time.Duration, error) {
		begun := processorTime()
		g, ctx := errgroup.WithContext(context.Background())
		g.SetLimit(limit)
		results := make([]int, items)
		for i := range items {
			g.Go(func() (err error) {
				results[i], err = double(ctx, i)
				return err
			})
		}
		err := g.Wait()
		return processorTime() - begun, err
	}
}

func mapTasks(limit int) measurement {
	numbers := make([]int, items)
	return func() (time.Duration, error) {
		begun := processorTime()
		results := make([]int, 0, items)
		for value, err := range meanwhile.Map(context.Background(), meanwhile.From(slices.Values(numbers)), double, meanwhile.Limit(limit)) {
			if err != nil {
				return 0, err
			}
			results = append(results, value)
		}
		return processorTime() - begun, nil
	}
}

// processorTime returns the processor time of the program, including that of the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	rounds := flag.Int("rounds", 9, "how often each is measured; a third as often where it takes long")
	each := flag.Bool("each", false, "print the two times of each round, and how often garbage was collected in it, before the row")
	only := flag.String("only", "", "measure only what has this in its subject")
	flag.Parse()
	background := context.Background()
	cancelable, stop := context.WithCancel(background)
	defer stop()
	for _, c := range []struct {
		subject, with  string
		errgroup, ours measurement
		long           bool
	}{
		{"spawn and wait, one task", "errgroup.WithContext", spawn(withErrgroup, background, 1, 50_000), spawn(withTasks, background, 1, 50_000), false},
		{"the same, below a ctx that can be canceled", "errgroup.WithContext", spawn(withErrgroup, cancelable, 1, 50_000), spawn(withTasks, cancelable, 1, 50_000), false},
		{"spawn and wait, 1,000 tasks", "errgroup.WithContext", spawn(withErrgroup, background, 1000, 100), spawn(withTasks, background, 1000, 100), false},
		{"Async and Wait, one task", "errgroup with a channel", spawn(withChannels, background, 1, 50_000), spawn(withAsync, background, 1, 50_000), false},
		{"Async and Wait of each, 1,000 tasks", "errgroup with a channel for each", spawn(withChannels, background, 1000, 50), spawn(withAsync, background, 1000, 50), false},
		{"ordered map, 100,000 trivial items, limit 8", "errgroup.SetLimit", mapErrgroup(8), mapTasks(8), false},
		{"the same, limit 64", "errgroup.SetLimit", mapErrgroup(64), mapTasks(64), false},
		{"the same, limit 1,000", "errgroup.SetLimit", mapErrgroup(1000), mapTasks(1000), false},
		// These are last, since the 100,000 idle goroutines that they leave make each later garbage collection slower.
		{"cancel 100,000 waiting tasks, from above", "errgroup.WithContext", cancel(withErrgroup, waitForDone, false), cancel(withTasks, waitForDone, false), true},
		{"the same, by a failure", "errgroup.WithContext", cancel(withErrgroup, waitForDone, true), cancel(withTasks, waitForDone, true), true},
		{"cancel 100,000 sleeping tasks, from above", "errgroup.WithContext", cancel(withErrgroup, timerOfAnHour, false), cancel(withTasks, sleepAnHour, false), true},
	} {
		if !strings.Contains(c.subject, *only) {
			continue
		}
		n := *rounds
		if c.long {
			n = (n + 2) / 3
		}
		median, worst, err := compare(c.errgroup, c.ours, n, *each)
		if err != nil {
			log.Fatalf("%s: %v", c.subject, err)
		}
		fmt.Printf("| %s | %s | %.2f×, worst %.2f× |\n", c.subject, c.with, median, worst)
	}
}

// compare measures both in turns, one round more than it uses, and returns the median and the largest of ours divided by the
// other.
func compare(other, ours measurement, rounds int, each bool) (median, worst float64, err error) {
	var ratios []float64
	for round := range rounds + 1 {
		a, collectedA, err := collecting(other)
		if err != nil {
			return 0, 0, err
		}
		b, collectedB, err := collecting(ours)
		if err != nil {
			return 0, 0, err
		}
		if round == 0 {
			continue
		}
		if each {
			fmt.Printf("%v (%d collections) and %v (%d)\n", a.Round(time.Microsecond), collectedA, b.Round(time.Microsecond), collectedB)
		}
		ratios = append(ratios, float64(b)/float64(a))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2], ratios[len(ratios)-1], nil
}

// collecting measures, and counts the garbage collections during the measurement.
func collecting(m measurement) (took time.Duration, collections uint32, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took, err = m()
	runtime.ReadMemStats(&after)
	return took, after.NumGC - before.NumGC, err
}
