package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// requestKey is the key of the ID of a request in a ctx.
type requestKey struct{}

func ExampleBeforeInsert() {
	type Mail struct{ User int }
	sendMail := job.Define[Mail]("mail.send")
	store := memory.New()

	// Each job carries the ID of the request that enqueued it.
	inserter := job.BeforeInsert(store, func(ctx context.Context, j *job.Job) error {
		if request, ok := ctx.Value(requestKey{}).(string); ok {
			j.Meta["request"] = request
		}
		j.Meta["version"] = "v1.4.2"
		return nil
	})
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), requestKey{}, "f00d"))
	if _, err := sendMail.Enqueue(ctx, inserter, Mail{User: 7}); err != nil {
		fmt.Println(err)
	}

	// A middleware puts it back into the ctx of the handler.
	restore := func(next job.HandlerFunc) job.HandlerFunc {
		return func(ctx context.Context, j *job.Job) error {
			return next(context.WithValue(ctx, requestKey{}, j.Meta["request"]), j)
		}
	}
	send := sendMail.Handle(func(ctx context.Context, m Mail) error {
		fmt.Println("mail to user", m.User, "of request", ctx.Value(requestKey{}))
		stop()
		return nil
	})
	worker := job.NewWorker(store, job.Config{Middleware: []job.Middleware{restore}, Logger: slog.New(slog.DiscardHandler)}, send)
	if err := worker.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Println(err)
	}
	// Output: mail to user 7 of request f00d
}

func TestBeforeInsert(t *testing.T) {
	errRefused := errors.New("no mail on Sundays")
	hook := func(_ context.Context, j *job.Job) error {
		j.Meta["tag"] = "a"
		j.ID, j.UniqueKey = job.NewID(), "other"
		switch string(j.Args) {
		case `{"text":"refuse"}`:
			return errRefused
		case `{"text":"break"}`:
			j.Priority = 12
		}
		return nil
	}
	store := memory.New()
	in := job.BeforeInsert(store, hook)
	j, err := noteKind.New(note{Text: "a"}, job.Meta("b", "c"), job.Unique("k"))
	if err != nil {
		t.Fatal(err)
	}
	done, err := job.Insert(t.Context(), in, j)
	if err != nil || done[0].ID != j.ID || done[0].Duplicate {
		t.Fatalf("inserted %+v, %v", done, err)
	}
	if len(j.Meta) != 1 {
		t.Errorf("the caller's job has meta %v", j.Meta)
	}
	got, err := job.Find(t.Context(), store, j.ID)
	if err != nil || got.Meta["tag"] != "a" || got.Meta["b"] != "c" || got.UniqueKey != j.UniqueKey {
		t.Errorf("stored %+v, %v", got, err)
	}
	if done, err := noteKind.Enqueue(t.Context(), in, note{}, job.Unique("k")); err != nil || !done.Duplicate || done.ID != j.ID {
		t.Errorf("a duplicate: %+v, %v", done, err)
	}
	for text, want := range map[string]string{"refuse": errRefused.Error(), "break": "priority 12: give from 1 to 9"} {
		_, err := noteKind.EnqueueAll(t.Context(), in, meanwhile.From(func(yield func(note) bool) { _ = yield(note{}) && yield(note{Text: text}) }))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if jobs, err := store.List(t.Context(), job.Filter{Limit: 5}); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs are stored, %v; want 1", len(jobs), err)
	}
}
