package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// figures are the measurements of one variant, extrapolated to all documents.
type figures struct {
	variant
	of             int // number of all documents
	enqueue, total time.Duration
	cpu            time.Duration // of the worker process, which runs neither the search engine nor the dashboard
	memory         memory        // of that process
}

// rate returns the number of documents indexed per second.
func (f figures) rate() float64 { return float64(f.of) / f.total.Seconds() }

// index indexes documents with one variant, and measures it. It returns an error unless each document is in the index afterwards.
func (d *demo) index(ctx context.Context, w variant) (figures, error) {
	if err := d.client.create(ctx, w.index); err != nil {
		return figures{}, err
	}
	d.engine.reset()
	begun := time.Now()
	if w.jobs {
		if err := d.enqueue(ctx, w); err != nil {
			return figures{}, err
		}
	}
	enqueued := time.Now()
	work, err := d.watchWork(ctx, w)
	if err != nil || ctx.Err() != nil {
		return figures{}, err
	}
	all := len(d.documents)
	indexed := probe.Count(all, "document")
	if w.part < all {
		indexed = probe.Number(w.part) + " of " + indexed
	}
	d.console.line("%-*s %s in %s, up to %s at once", nameWidth, w.name, indexed, seconds(work.Took), probe.Number(d.engine.reset()))

	factor := float64(all) / float64(w.part)
	f := figures{variant: w, of: all, memory: work.Memory, cpu: scale(work.CPU, factor)}
	if w.jobs {
		f.enqueue = enqueued.Sub(begun)
	}
	f.total = enqueued.Sub(begun) + scale(work.Took, factor)
	return f, d.check(ctx, w)
}

func scale(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }

// watchWork runs the work, and shows its progress.
func (d *demo) watchWork(ctx context.Context, w variant) (outcome, error) {
	var done atomic.Int64
	defer d.console.watch(ctx, w.name, w.part, func() int { return min(int(done.Load()), w.part) })()
	return d.workApart(ctx, w, func(n int) { done.Store(int64(n)) })
}

// check counts the documents in the index, and removes the jobs that exceed the part. Some of these may have run before the worker stopped.
func (d *demo) check(ctx context.Context, w variant) error {
	most := w.part
	if w.part < len(d.documents) && w.jobs {
		most = len(d.documents)
		if _, err := job.Apply(ctx, d.store, job.Filter{Queues: []string{w.index}, States: []job.State{job.Queued}}, job.ActionDelete); err != nil {
			return err
		}
	}
	there, err := d.client.count(ctx, w.index)
	if err == nil && (there < w.part || there > most) {
		err = fmt.Errorf("%s in the index, want %d", probe.Count(there, "document"), w.part)
	}
	return err
}
