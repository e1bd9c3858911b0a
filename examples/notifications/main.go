// Notifications sends 100 notifications by three services: e-mail, push and text message. Each job calls all three concurrently;
// the service for text messages fails every third time. Only the failed part is retried: a table records which parts of a job
// are done.
//
// It prints how many calls each service received and how many messages arrived, and the outcome of the jobs:
//
//	       calls  failed  arrived  twice
//	email    100       0      100      0
//	push     100       0      100      0
//	text     149      49      100      0
//	100 jobs completed, 49 attempts failed, 3.13 s
//
// The services are part of the program. The jobs and the table are in a SQLite file in a temporary folder, which the program
// removes.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/process"
)

const people = 100

// A Message is the args of a job.
type Message struct {
	To   int    `json:"to"`
	Text string `json:"text"`
}

// Notify is the kind of the jobs. The backoff is short because this is a demonstration.
var Notify = job.Define[Message]("notify", job.MaxAttempts(10),
	job.Backoff(func(attempt int, _ error) time.Duration { return time.Duration(attempt) * 50 * time.Millisecond }))

func main() { process.Main(run) }

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "notifications")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "app.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	parts, err := openParts(ctx, store.DB())
	if err != nil {
		return err
	}

	services := []*service{{name: "email"}, {name: "push"}, {name: "text", failsEach: 3}}
	for _, s := range services {
		if err := s.serve(ctx); err != nil {
			return err
		}
	}
	_, err = Notify.EnqueueAll(ctx, store, func(yield func(Message, error) bool) {
		for n := range people {
			if !yield(Message{To: n, Text: "your parcel is here"}, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	start := time.Now()
	retried, err := work(ctx, store, &notifier{parts: parts, services: services})
	if err != nil {
		return err
	}
	return report(services, retried, time.Since(start))
}

// work runs a worker until all jobs have finished, and counts the attempts that failed.
func work(ctx context.Context, store job.Store, n *notifier) (retried int64, err error) {
	var failed atomic.Int64
	w := job.NewWorker(store, job.Config{Observe: func(e job.Event) {
		if e.Kind == job.JobRetried {
			failed.Add(1)
		}
	}}, Notify.Handle(n.notify))
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, w.Run, meanwhile.InBackground(), meanwhile.Name("worker"))
		for j, err := range job.List(ctx, store, job.Filter{Kinds: []string{Notify.Name()}}) {
			if err != nil {
				return err
			}
			if err := Notify.Await(ctx, store, j.ID, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return failed.Load(), err
}

func report(services []*service, retried int64, took time.Duration) error {
	fmt.Println("       calls  failed  arrived  twice")
	for _, s := range services {
		s.mu.Lock()
		fmt.Printf("%-5s %6d %7d %8d %6d\n", s.name, s.calls, s.failed, len(s.arrived), s.twice)
		arrived, twice := len(s.arrived), s.twice
		s.mu.Unlock()
		if arrived != people || twice != 0 {
			return fmt.Errorf("%s: %d messages arrived, %d of them twice; want %d, each once", s.name, arrived, twice, people)
		}
	}
	fmt.Printf("%d jobs completed, %d attempts failed, %.2f s\n", people, retried, took.Seconds())
	return nil
}
