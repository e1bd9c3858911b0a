package docs_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/retry"
)

// The lines of the tables in coming-from-jobs.md stand here, so that they compile, and with the result they give.

var Send = job.Define[Mail]("mail.send")

func Example_comingFromJobs() {
	noon := time.Now().Add(time.Hour)
	tenSecondsEach := func(attempt int, _ error) time.Duration { return time.Duration(attempt) * 10 * time.Second }
	show(func(ctx context.Context, _ job.Store) error {
		store := memory.New()
		mail := Mail{User: 1, Text: "hi"}
		kind := job.Define[Mail]("options", job.Queue("mail"), job.MaxAttempts(6), job.Backoff(tenSecondsEach),
			job.UniqueArgs(), job.Timeout(time.Minute))
		first, err := kind.Enqueue(ctx, store, mail, job.Unique("reminder/7"), job.In(5*time.Minute), job.At(noon),
			job.Priority(9), job.UniqueFor(time.Hour))
		fmt.Println(first.Duplicate, err)

		if _, err := Send.Enqueue(ctx, store, mail); err != nil {
			return err
		}
		if _, err := Send.Enqueue(ctx, store, mail, job.In(5*time.Minute)); err != nil {
			return err
		}
		if _, err := Send.Enqueue(ctx, store, mail, job.At(noon)); err != nil {
			return err
		}
		mails := meanwhile.From(slices.Values([]Mail{mail, mail}))
		if _, err := Send.EnqueueAll(ctx, store, mails); err != nil {
			return err
		}
		typed, err := Send.New(mail)
		if err != nil {
			return err
		}
		payload := json.RawMessage(`{"user": 1}`)
		raw, err := job.New("mail.send", payload)
		if err != nil {
			return err
		}
		jobs := []*job.Job{typed, raw}
		done, err := job.Insert(ctx, store, jobs...)
		if err != nil {
			return err
		}
		id := done[0].ID
		if err := store.Pause(ctx, "mail", true); err != nil {
			return err
		}
		limits := job.Limits{EachKey: job.KeyLimits{Running: 1}}
		if err := store.SetLimits(ctx, "mail", limits); err != nil {
			return err
		}

		handler := Send.Handle(func(ctx context.Context, m Mail) error {
			job.Progress(ctx, 3, 10)
			return nil
		})
		work := func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, 50*time.Millisecond)
			defer stop()
			return job.NewWorker(store, job.Config{}, handler).Run(ctx)
		}
		if err := work(ctx); err != nil {
			return err
		}
		found, err := job.Find(ctx, store, id)
		if err != nil {
			return err
		}
		fmt.Println(found.State, found.Progress.Done)
		fmt.Println(changed(job.Apply(ctx, store, job.Filter{IDs: []job.ID{id}}, job.ActionRetry)))
		fmt.Println(changed(job.Apply(ctx, store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel)))
		discarded := job.Filter{States: []job.State{job.Discarded}}
		fmt.Println(changed(job.Apply(ctx, store, discarded, job.ActionRetry)))
		return nil
	})
	// Output:
	// false <nil>
	// completed 3
	// 1 <nil>
	// 1 <nil>
	// 0 <nil>
}

// These are the lines that say what a worker does.
func TestComingFromJobsConfigs(t *testing.T) {
	queues := []job.QueueConfig{{Name: "mail", Weight: 3}, {Name: "default", Weight: 1}}
	var crons []job.Cron
	keep := map[job.State]time.Duration{job.Completed: time.Hour}
	discarded := func(job.Event) {}
	handle := func(context.Context, *job.Job) error { return nil }
	sendAndCount := func(context.Context, Mail) (int, error) { return 1, nil }
	for _, h := range []job.Handler{job.HandleRaw("mail.send", handle), job.HandleResult(Send, sendAndCount)} {
		work := func(c job.Config) {
			t.Helper()
			runFor(t, memory.New(), 10*time.Millisecond, c, h)
		}
		work(job.Config{Concurrency: 10, Queues: queues})
		work(job.Config{Concurrency: 1000})
		work(job.Config{Observe: discarded})
		work(job.Config{Crons: crons})
		work(job.Config{Retention: keep})
	}
	for _, err := range []error{
		job.Cancel(errNotFound), job.Snooze(time.Minute), retry.Permanent(errNotFound),
		retry.After(errNotFound, time.Minute),
	} {
		if err == nil {
			t.Error("an outcome is nil")
		}
	}
	outcomes := func(err error) []error {
		return []error{job.Cancel(err), retry.Permanent(err), retry.After(err, time.Minute)}
	}
	if len(outcomes(errNotFound)) != 3 {
		t.Error("an outcome is missing")
	}
}

func TestComingFromJobsInTransactions(t *testing.T) {
	ctx := t.Context()
	t.Chdir(t.TempDir())
	store, err := sqlite.Open(ctx, "jobs.db")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := sql.Open("sqlite", filepath.Join(".", "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mail := Mail{User: 1}
	inTx := func(fn func(tx *sql.Tx) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
	err = inTx(func(tx *sql.Tx) error {
		_, err := Send.Enqueue(ctx, store.Tx(tx), mail)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = workUntilDone(ctx, store, 1, Send.Handle(func(ctx context.Context, m Mail) error {
		return inTx(func(tx *sql.Tx) error { return job.Complete(ctx, store.Tx(tx)) })
	}))
	if err != nil {
		t.Fatal(err)
	}
}
