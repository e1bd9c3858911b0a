package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

const (
	sampleEach = 10 * time.Millisecond
	reportEach = 50 * time.Millisecond
	maxNotes   = 64 << 10 // bytes kept of a worker process's standard error
)

// A workload is the work of a worker process. It is sent as JSON to the standard input of the process, which ends when its input is closed.
type workload struct {
	Store   string // file of the jobs
	Engine  string // address of the search engine
	Latency time.Duration
	Of      int // number of all documents
	Index   string
	Part    int
	AtOnce  int
	Jobs    bool
}

// A report is a line of JSON that a worker process prints.
type report struct {
	Done    int
	Outcome *outcome `json:",omitempty"` // only in the last report
}

// An outcome has the measurements of the work, made by the process that did it; zero is unknown.
type outcome struct {
	Took   time.Duration // from the start of the worker until the last document was indexed
	CPU    time.Duration // of the process during the work
	Memory memory
}

// A memory is the memory use of a process, in bytes; zero is unknown.
type memory struct {
	Mean int64 // mean of the samples during the work
	Most int64
}

// workApart runs the work of a variant in a separate process, so that neither the search engine nor the dashboard is included in
// the measurements. It calls done with the number of indexed documents.
func (d *demo) workApart(ctx context.Context, w variant, done func(n int)) (outcome, error) {
	program, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	run := exec.CommandContext(ctx, program, "demo", "--worker")
	notes := &limitedBuffer{}
	run.Stderr = notes
	in, err := run.StdinPipe() // open while the worker runs, so that the worker ends with this process
	if err != nil {
		return outcome{}, err
	}
	out, err := run.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	if err := run.Start(); err != nil {
		return outcome{}, err
	}
	result, err := d.follow(in, out, w, done)
	_ = in.Close()
	if err := cmp.Or(run.Wait(), err); err != nil {
		return outcome{}, fmt.Errorf("worker process: %w: %s", err, bytes.TrimSpace(notes.Bytes()))
	}
	if result == nil {
		return outcome{}, errors.New("worker process: it exited without a result")
	}
	return *result, nil
}

// follow sends a worker process its workload, and reads its reports until it closes its output.
func (d *demo) follow(in io.Writer, out io.Reader, w variant, done func(n int)) (*outcome, error) {
	err := json.NewEncoder(in).Encode(workload{
		Store: d.file, Engine: d.client.address, Latency: d.latency, Of: len(d.documents),
		Index: w.index, Part: w.part, AtOnce: w.atOnce, Jobs: w.jobs,
	})
	if err != nil {
		return nil, err
	}
	var last *outcome
	for reports := json.NewDecoder(out); ; {
		var r report
		if err := reports.Decode(&r); errors.Is(err, io.EOF) {
			return last, nil
		} else if err != nil {
			return nil, err
		}
		done(r.Done)
		last = r.Outcome
	}
}

// A limitedBuffer keeps the first maxNotes bytes that are written to it.
type limitedBuffer struct{ kept []byte }

// Write keeps what fits.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxNotes-len(b.kept))]...)
	return len(p), nil
}

// Bytes returns the kept bytes.
func (b *limitedBuffer) Bytes() []byte { return b.kept }

// runWorker is the worker process.
func runWorker(ctx context.Context, in io.Reader, out io.Writer) error {
	var load workload
	input := json.NewDecoder(in)
	if err := input.Decode(&load); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	c := newClient(load.Engine, load.Latency)
	defer c.close()
	var documents []corpus.Document
	if !load.Jobs { // with jobs the documents are in the store
		all, err := corpus.Documents()
		if err != nil {
			return err
		}
		documents = spread(all, load.Of)
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := meanwhile.Blocking(ctx, func() (int64, error) { return io.Copy(io.Discard, in) })
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.Join(errors.New("the demo has ended"), err)
		}, meanwhile.InBackground(), meanwhile.Name("parent"))
		return load.run(ctx, c, documents, json.NewEncoder(out))
	}, meanwhile.Name("worker"))
}

// run runs the work, samples the memory, and reports progress.
func (l *workload) run(ctx context.Context, c *client, documents []corpus.Document, out *json.Encoder) error {
	var done atomic.Int64
	var sum, samples atomic.Int64
	sampler := meanwhile.Every(ctx, sampleEach, func(context.Context) error {
		if now := residentMemory(); now.Mean > 0 {
			sum.Add(now.Mean)
			samples.Add(1)
		}
		return nil
	}, meanwhile.Name("memory"))
	reporter := meanwhile.Every(ctx, reportEach, func(context.Context) error {
		return out.Encode(report{Done: int(done.Load())})
	}, meanwhile.Name("progress"))

	begun, before := time.Now(), cpuTime()
	err := l.work(ctx, c, documents, func() { done.Add(1) })
	result := outcome{Took: time.Since(begun), CPU: cpuTime() - before, Memory: residentMemory()}
	sampler.Cancel(meanwhile.Stop)
	reporter.Cancel(meanwhile.Stop)
	<-sampler.Done()
	<-reporter.Done()
	if err != nil {
		return err
	}
	if n := samples.Load(); n > 0 {
		result.Memory.Mean = sum.Load() / n
	}
	return out.Encode(report{Done: int(done.Load()), Outcome: &result})
}

// work indexes the part of the documents, and calls done after each document.
func (l *workload) work(ctx context.Context, c *client, documents []corpus.Document, done func()) error {
	if l.Jobs {
		store, err := sqlite.Open(ctx, l.Store)
		if err != nil {
			return err
		}
		defer store.Close()
		return l.runJobs(ctx, store, c, done)
	}
	for _, document := range documents[:l.Part] {
		if err := c.put(ctx, l.Index, document); err != nil {
			return err
		}
		done()
	}
	return nil
}

// runJobs runs a worker for the jobs until the part is done.
func (l *workload) runJobs(ctx context.Context, store job.Store, c *client, done func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var finished atomic.Int64
	worker := job.NewWorker(store, job.Config{
		Name: l.Index, Queues: []job.QueueConfig{{Name: l.Index}}, Concurrency: l.AtOnce, Grace: -1, Logger: quiet,
		Observe: func(e job.Event) {
			if e.Job == nil || !e.Job.State.Finished() {
				return
			}
			done()
			if finished.Add(1) == int64(l.Part) {
				stop()
			}
		},
	}, Index.Handle(c.handle))
	return worker.Run(ctx)
}

// handle is the job handler. It is plain sequential code, although a thousand calls run concurrently.
func (c *client) handle(ctx context.Context, document Document) error {
	return c.put(ctx, document.Index, document.Document)
}
