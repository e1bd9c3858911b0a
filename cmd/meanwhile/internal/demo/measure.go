package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// figures are what was measured of one way, and what that makes for all documents.
type figures struct {
	way
	of             int // documents in all
	enqueue, total time.Duration
	cpu            time.Duration // of this process, the search engine included
	memory         int64         // the most that this process has had, in bytes
}

// rate is how many documents are indexed in a second.
func (f figures) rate() float64 { return float64(f.of) / f.total.Seconds() }

// index indexes documents in one way, and measures it. It returns an error unless each of them is there in the end.
func (d *demo) index(ctx context.Context, w way) (figures, error) {
	if err := d.client.create(ctx, w.index); err != nil {
		return figures{}, err
	}
	d.engine.reset()
	begun, atFirst := time.Now(), usage()
	if w.jobs {
		if err := d.enqueue(ctx, w); err != nil {
			return figures{}, err
		}
	}
	enqueued, between := time.Now(), usage()
	if err := d.watchWork(ctx, w); err != nil || ctx.Err() != nil {
		return figures{}, err
	}
	worked, atLast := time.Since(enqueued), usage()
	all := len(d.documents)
	indexed := probe.Count(all, "document")
	if w.part < all {
		indexed = probe.Number(w.part) + " of " + indexed
	}
	d.console.line("%-*s %s in %s, up to %s at once", nameWidth, w.name, indexed, seconds(worked), probe.Number(d.engine.reset()))

	factor := float64(all) / float64(w.part)
	f := figures{way: w, of: all, memory: atLast.memory}
	if w.jobs {
		f.enqueue = enqueued.Sub(begun)
	}
	f.total = enqueued.Sub(begun) + scale(worked, factor)
	f.cpu = between.cpu - atFirst.cpu + scale(atLast.cpu-between.cpu, factor)
	return f, d.check(ctx, w)
}

func scale(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }

// watchWork works, and shows how far it is.
func (d *demo) watchWork(ctx context.Context, w way) error {
	var done atomic.Int64
	defer d.console.watch(ctx, w.name, w.part, func() int { return min(int(done.Load()), w.part) })()
	return d.work(ctx, w, func() { done.Add(1) })
}

// check counts the documents in the index, and removes the jobs that were not wanted. Some of these may have been done
// before the worker stopped.
func (d *demo) check(ctx context.Context, w way) error {
	most := w.part
	if w.part < len(d.documents) && w.jobs {
		most = len(d.documents)
		if _, err := job.Apply(ctx, d.store, job.Filter{Queues: []string{w.index}, States: []job.State{job.Queued}}, job.ActDelete); err != nil {
			return err
		}
	}
	there, err := d.client.count(ctx, w.index)
	if err == nil && (there < w.part || there > most) {
		err = fmt.Errorf("%s in the index, want %d", probe.Count(there, "document"), w.part)
	}
	return err
}

// A used is what the process has used since it began; zero is unknown.
type used struct {
	cpu    time.Duration
	memory int64 // the most at once, in bytes
}
