// Llm-summaries calls an LLM API with durable jobs. 60 articles are summarized by an API that often rejects requests: it has
// a rate limit of 25 requests per second and returns 429 above it, it is sometimes overloaded and returns 503, each time with
// a Retry-After, and it returns 413 for an article that is too long.
//
// The queue has a rate limit a little below that of the API, so that there are almost no 429 responses; without it there were
// 31. The handler maps each status to the outcome of the job:
//
//	200  the summary is the job's result
//	429  job.Throttled: another client has used up the rate; nothing has failed, so no attempt is used, and no other job starts until then
//	503  retry.After: a failed attempt, retried when the API asks for it
//	413  job.Cancel: another attempt would not help
//
// It prints the results:
//
//	canceled: summarize article 17: 413 Request Entity Too Large
//	59 completed, 1 canceled, in 3.83 s
//	the API answered: 59 × 200, 1 × 413, 6 × 503
//	attempts that failed: 6; put off without using an attempt: 0
//	a summary: article 59 in four words
//
// The API is part of the program. The jobs are in a SQLite file in a temporary folder, which the program removes.
package main

import (
	"context"
	"encoding/json"
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

const articles = 60

// An Article is the args of a job: where the text is, not the text itself.
type Article struct {
	Number int `json:"number"`
	Words  int `json:"words"`
}

// A Summary is the result of a job.
type Summary struct {
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// Summarize is the kind of the jobs. An attempt that hangs is canceled after a minute.
var Summarize = job.Define[Article]("article.summarize", job.Queue("models"), job.Timeout(time.Minute))

func main() { process.Main(run) }

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "llm-summaries")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	model, err := serve(ctx)
	if err != nil {
		return err
	}
	// A little less than the API accepts, for all workers together.
	if err := store.SetLimits(ctx, "models", job.Limits{Starts: job.Rate{N: 24, Per: time.Second}}); err != nil {
		return err
	}

	_, err = Summarize.EnqueueAll(ctx, store, func(yield func(Article, error) bool) {
		for n := range articles {
			words := 800
			if n == 17 {
				words = 80_000
			}
			if !yield(Article{Number: n, Words: words}, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	start := time.Now()
	failed, snoozed, err := work(ctx, store, &client{url: model.url})
	if err != nil {
		return err
	}
	took := time.Since(start)
	return report(ctx, store, model, took, failed, snoozed)
}

// work runs a worker until all jobs have finished, and counts failed and snoozed attempts.
func work(ctx context.Context, store job.Store, c *client) (failed, snoozed int64, err error) {
	var failures, snoozes atomic.Int64
	w := job.NewWorker(store, job.Config{
		Queues: []job.QueueConfig{{Name: "models", Concurrency: 16}},
		Observe: func(e job.Event) {
			switch e.Kind {
			case job.JobRetried:
				failures.Add(1)
			case job.JobSnoozed:
				snoozes.Add(1)
			}
		},
	}, job.HandleResult(Summarize, c.summarize))
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, w.Run, meanwhile.InBackground(), meanwhile.Name("worker"))
		for j, err := range job.List(ctx, store, job.Filter{Kinds: []string{Summarize.Name()}}) {
			if err != nil {
				return err
			}
			if _, err := job.Await(ctx, store, j.ID); err != nil { // in whatever state: one job is expected to be canceled
				return err
			}
		}
		return nil
	})
	return failures.Load(), snoozes.Load(), err
}

// report prints the contents of the store: the results are stored with the jobs.
func report(ctx context.Context, store job.Store, m *model, took time.Duration, failed, snoozed int64) error {
	states := map[job.State]int{}
	var longest string
	for j, err := range job.List(ctx, store, job.Filter{Kinds: []string{Summarize.Name()}}) {
		if err != nil {
			return err
		}
		states[j.State]++
		switch j.State {
		case job.Completed:
			var s Summary
			if err := json.Unmarshal(j.Result, &s); err != nil {
				return err
			}
			if len(s.Text) > len(longest) {
				longest = s.Text
			}
		case job.Canceled:
			fmt.Println("canceled:", j.LastError())
		}
	}
	fmt.Printf("%d completed, %d canceled, in %.2f s\n", states[job.Completed], states[job.Canceled], took.Seconds())
	fmt.Println("the API answered:", m.answered())
	fmt.Printf("attempts that failed: %d; put off without using an attempt: %d\n", failed, snoozed)
	fmt.Printf("a summary: %s\n", longest)
	if states[job.Completed] != articles-1 || states[job.Canceled] != 1 {
		return fmt.Errorf("the jobs ended as %v", states)
	}
	return nil
}
