// Search-indexing runs 1,000 durable jobs concurrently. They write 1,000 documents to a search index that takes 50 ms for each: once
// with a worker that runs three jobs at a time, as pools of workers do, and once with one that runs 1,000.
//
// It prints for each worker the time, the most concurrent requests at the index, and how many documents are in it:
//
//	                   wall      CPU   memory  at once  documents
//	   3 at a time  18.65 s   1.39 s    24 MB        3       1000
//	1000 at a time   0.45 s   0.23 s    52 MB      486       1000
//
// The index never had all 1,000 requests concurrently because it completed the first before the last had started.
//
// The index is part of this program. Each worker is a separate process, so that its figures are separate; it is the same
// program with other arguments, and claims its jobs from a SQLite file.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/process"
)

const documents = 1000

// A Document is the args of a job.
type Document struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// Index is the kind of the jobs.
var Index = job.Define[Document]("search.index", job.Queue("search"), job.MaxAttempts(5))

func main() {
	file := flag.String("work", "", "work on the jobs in this `file`")
	url := flag.String("index", "", "`URL` of the index")
	atOnce := flag.Int("n", 3, "how many jobs run at once")
	flag.Parse()
	process.Main(func(ctx context.Context) error {
		if *file != "" {
			return work(ctx, *file, *url, *atOnce)
		}
		return compare(ctx)
	})
}

func compare(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "search-indexing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	index, err := serve(ctx)
	if err != nil {
		return err
	}
	fmt.Println("                   wall      CPU   memory  at once  documents")
	for _, n := range []int{3, 1000} {
		file := filepath.Join(folder, fmt.Sprintf("%d.db", n))
		if err := enqueue(ctx, file); err != nil {
			return err
		}
		start := time.Now()
		p, err := workElsewhere(ctx, file, index.url, n)
		if err != nil {
			return err
		}
		took, cpu := time.Since(start), p.UserTime()+p.SystemTime()
		written, most := index.clear()
		fmt.Printf("%4d at a time %6.2f s %6.2f s %8s %8d %10d\n", n, took.Seconds(), cpu.Seconds(), memory(p), most, written)
		if written != documents {
			return fmt.Errorf("%d documents are in the index, want %d", written, documents)
		}
	}
	return nil
}

// enqueue enqueues the jobs from a stream, only part of which is in memory at a time.
func enqueue(ctx context.Context, file string) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = Index.EnqueueAll(ctx, store, func(yield func(Document, error) bool) {
		for n := range documents {
			if !yield(Document{Number: n, Text: strings.Repeat("a document about waiting. ", 40)}, nil) {
				return
			}
		}
	})
	return err
}

// workElsewhere runs a worker as a process of its own until all jobs are done.
func workElsewhere(ctx context.Context, file, url string, n int) (*os.ProcessState, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-work", file, "-index", url, "-n", fmt.Sprint(n))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	return cmd.ProcessState, err
}

// work runs n jobs at a time until all are done.
func work(ctx context.Context, file, url string, n int) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	// Connections are kept: otherwise all but two would be opened again for each document.
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: n, MaxIdleConnsPerHost: n}}
	// index is all that has to be written. It does not depend on a thousand of it running concurrently.
	index := func(ctx context.Context, d Document) error {
		return put(ctx, client, fmt.Sprintf("%s/documents/%d", url, d.Number), d.Text)
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	w := job.NewWorker(store, job.Config{
		Queues:      []job.QueueConfig{{Name: "search"}},
		Concurrency: n,
		Observe: func(e job.Event) {
			if e.Job != nil && e.Job.State.Finished() && done.Add(1) == documents {
				stop()
			}
		},
	}, Index.Handle(index))
	return w.Run(ctx)
}

func put(ctx context.Context, client *http.Client, url, text string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(text))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("put %s: %s", url, response.Status)
	}
	return nil
}
