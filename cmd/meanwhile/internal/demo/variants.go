package demo

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// The slow variants index only a part of the documents, so that the demo does not take too long.
const (
	mostTasks  = 1000
	fewWorkers = 3
	partTime   = 2 * time.Second // waiting time of a part
	leastPart  = 5
	mostPart   = 40
)

// A Document is the args of an index job: what to index, and where.
type Document struct {
	Index string `json:"index"`
	corpus.Document
}

// Index is the kind of jobs that index a document.
var Index = job.Define[Document]("document.index", job.MaxAttempts(5), job.Timeout(time.Minute))

// A variant is a way to index the documents.
type variant struct {
	name   string
	index  string // index of the documents; their jobs are in a queue of this name
	part   int    // number of documents to index
	atOnce int
	jobs   bool // index with jobs; otherwise one after the other in a loop
}

// variants returns the variants, the slowest first.
func (d *demo) variants() []variant {
	part := mostPart
	if d.latency > 0 {
		part = max(leastPart, min(int(partTime/d.latency), mostPart))
	}
	all := len(d.documents)
	return []variant{
		{"one by one", "go-by-1", min(part, all), 1, false},
		{fmt.Sprintf("%d workers", fewWorkers), "go-by-3", min(fewWorkers*part, all), fewWorkers, true},
		{probe.Count(mostTasks, "task"), "go", all, mostTasks, true},
	}
}

// enqueue enqueues a job for each document. All of them are on disk when it returns.
func (d *demo) enqueue(ctx context.Context, w variant) error {
	_, err := Index.EnqueueAll(ctx, d.store, func(yield func(Document, error) bool) {
		for _, document := range d.documents {
			if !yield(Document{w.index, document}, nil) {
				return
			}
		}
	}, job.Queue(w.index))
	return err
}

// quiet is the logger of workers, which discards their messages: the dashboard shows the same.
var quiet = slog.New(slog.DiscardHandler)
