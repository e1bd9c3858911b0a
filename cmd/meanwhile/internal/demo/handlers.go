package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/job"
)

const tellEach = 10 * time.Second

// handlers run the jobs.
type handlers struct {
	documents []corpus.Document
	client    *client
	logger    *slog.Logger  // its records are stored with the job
	pace      time.Duration // duration of a rebuild
}

// refresh indexes some documents again, a few concurrently.
func (h *handlers) refresh(ctx context.Context, p Part) error {
	part := h.documents[min(p.From, len(h.documents)):min(p.From+p.Count, len(h.documents))]
	return meanwhile.Each(ctx, meanwhile.From(slices.Values(part)), func(ctx context.Context, d corpus.Document) error {
		return h.client.put(ctx, "go", d)
	}, meanwhile.Limit(4), meanwhile.Name("documents"))
}

var errOverloaded = errors.New("the translator is overloaded (this is a demo: it fails on purpose)")

// translate stands for a call to a service that is overloaded most of the time. Some jobs succeed in a later attempt, some never do.
func (h *handlers) translate(ctx context.Context, t Translation) error {
	if err := meanwhile.Sleep(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	if rand.IntN(5) < 3 {
		return fmt.Errorf("translate %s: %w", t.Document, errOverloaded)
	}
	return nil
}

// rebuild creates an index again, slowly and a few packages at a time, so that the search engine has time for other requests.
func (h *handlers) rebuild(ctx context.Context, r Rebuilding) error {
	if err := h.client.create(ctx, r.Index); err != nil {
		return err
	}
	packages := slices.Collect(chunks(h.documents))
	h.logger.InfoContext(ctx, "rebuilding", "index", r.Index, "packages", len(packages))
	meanwhile.Every(ctx, tellEach, func(ctx context.Context) error { return h.reportProgress(ctx, r.Index) }, meanwhile.Name("tell"))
	var done atomic.Int64
	pace := meanwhile.Rate(len(h.documents), h.pace)
	put := func(ctx context.Context, d corpus.Document) error {
		if err := pace.Wait(ctx); err != nil {
			return err
		}
		if err := h.client.put(ctx, r.Index, d); err != nil {
			return err
		}
		job.Progress(ctx, done.Add(1), int64(len(h.documents)))
		return nil
	}
	err := meanwhile.Each(ctx, meanwhile.From(slices.Values(packages)), func(ctx context.Context, part []corpus.Document) error {
		return inPackage(ctx, part, put)
	}, meanwhile.Limit(6), meanwhile.Name("packages"))
	if err != nil {
		return err
	}
	h.logger.InfoContext(ctx, "rebuilt", "documents", done.Load())
	return nil
}

// inPackage calls do with the documents of one package, a few concurrently. The scope names the package in the task tree.
func inPackage(ctx context.Context, part []corpus.Document, do func(context.Context, corpus.Document) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		return meanwhile.Each(ctx, meanwhile.From(slices.Values(part)), do, meanwhile.Limit(3), meanwhile.Name("documents"))
	}, meanwhile.Name(part[0].Package))
}

// reportProgress logs the number of documents in the index.
func (h *handlers) reportProgress(ctx context.Context, index string) error {
	n, err := h.client.count(ctx, index)
	if err != nil {
		return err
	}
	h.logger.InfoContext(ctx, "so far", "index", index, "documents", n)
	return nil
}

// chunks yields the documents of each package.
func chunks(documents []corpus.Document) func(func([]corpus.Document) bool) {
	return func(yield func([]corpus.Document) bool) {
		for len(documents) > 0 {
			end := slices.IndexFunc(documents, func(d corpus.Document) bool { return d.Package != documents[0].Package })
			if end < 0 {
				end = len(documents)
			}
			if !yield(documents[:end]) {
				return
			}
			documents = documents[end:]
		}
	}
}
