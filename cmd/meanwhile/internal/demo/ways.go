package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// The slow ways index a part of the documents only: what takes longer than a demo should is not done to the end.
const (
	mostTasks  = 1000
	fewWorkers = 3
	partTime   = 2 * time.Second // of waiting
	leastPart  = 5
	mostPart   = 40
)

// A Document is the args of a job: what to index, and where.
type Document struct {
	Index string `json:"index"`
	corpus.Document
}

// Index is the kind of the jobs that index a document.
var Index = job.Define[Document]("document.index", job.MaxAttempts(5), job.Timeout(time.Minute))

// handle is all there is to write for it. It does not know that a thousand of it run.
func (d *demo) handle(ctx context.Context, document Document) error {
	return d.client.put(ctx, document.Index, document.Document)
}

// A way is a way to index the documents.
type way struct {
	name   string
	index  string // to index them into; the jobs are in a queue of this name
	part   int    // how many of them are
	atOnce int
	jobs   bool // they are jobs; otherwise each is indexed when the one before it is
}

// ways returns the ways, the slowest first.
func (d *demo) ways() []way {
	part := mostPart
	if d.latency > 0 {
		part = max(leastPart, min(int(partTime/d.latency), mostPart))
	}
	all := len(d.documents)
	return []way{
		{"one by one", "go-by-1", min(part, all), 1, false},
		{fmt.Sprintf("%d workers", fewWorkers), "go-by-3", min(fewWorkers*part, all), fewWorkers, true},
		{probe.Count(mostTasks, "task"), "go", all, mostTasks, true},
	}
}

// enqueue makes a job for each document. All of them are on disk when it returns.
func (d *demo) enqueue(ctx context.Context, w way) error {
	_, err := Index.EnqueueAll(ctx, d.store, func(yield func(Document, error) bool) {
		for _, document := range d.documents {
			if !yield(Document{w.index, document}, nil) {
				return
			}
		}
	}, job.Queue(w.index))
	return err
}

// work indexes the part of the documents, and calls done after each.
func (d *demo) work(ctx context.Context, w way, done func()) error {
	if w.jobs {
		return d.runJobs(ctx, w, done)
	}
	for _, document := range d.documents[:w.part] {
		if err := d.client.put(ctx, w.index, document); err != nil {
			return err
		}
		done()
	}
	return nil
}

// runJobs has a worker run the jobs until the part is done.
func (d *demo) runJobs(ctx context.Context, w way, done func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var finished atomic.Int64
	worker := job.NewWorker(d.store, job.Config{
		Name: w.index, Queues: []job.QueueConfig{{Name: w.index}}, Concurrency: w.atOnce, Grace: -1, Logger: quiet,
		Observe: func(e job.Event) {
			if e.Job == nil || !e.Job.State.Finished() {
				return
			}
			done()
			if finished.Add(1) == int64(w.part) {
				stop()
			}
		},
	}, Index.Handle(d.handle))
	return worker.Run(ctx)
}

// quiet is for workers: what they would log is on the dashboard.
var quiet = slog.New(slog.DiscardHandler)
