package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A logged is a record that a worker wrote.
type logged struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Message string    `json:"msg"`
	ID      string    `json:"job.id"`
	Kind    string    `json:"job.kind"`
	Queue   string    `json:"job.queue"`
	Attempt int       `json:"job.attempt"`
	Error   string    `json:"error"`
	Next    time.Time `json:"next"`
	Omitted int       `json:"omitted"`
}

// records decodes the output of a slog.JSONHandler.
func records(t *testing.T, text *bytes.Buffer) []logged {
	t.Helper()
	var all []logged
	for decoder := json.NewDecoder(text); decoder.More(); {
		var r logged
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestFailuresAreLogged: the worker logs failed attempts, with attributes that identify the job and its next attempt.
func TestFailuresAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		r := newIdleRig(t)
		attempts := 0
		r.startWorker(r.store, job.Config{Logger: slog.New(slog.NewJSONHandler(&text, nil))}, job.HandleRaw("note", func(context.Context, *job.Job) error {
			if attempts++; attempts == 2 {
				panic("oh")
			}
			return errFlaky
		}, job.Backoff(second)))
		begun := time.Now()
		id := r.enqueue(job.MaxAttempts(3))
		seconds(5)
		j := r.wantState(id, job.Discarded)
		r.end()
		got := records(t, &text)
		if len(got) != 3 {
			t.Fatalf("%d records, want 3: %+v", len(got), got)
		}
		for i, g := range got[:2] {
			want := logged{
				Time: g.Time, Level: "WARN", Message: "job: an attempt failed", ID: id.String(), Kind: "note", Queue: "default",
				Attempt: i + 1, Error: j.Failures[i].Error, Next: g.Next,
			}
			if g != want {
				t.Errorf("record %d:\n%+v, want\n%+v", i, g, want)
			}
			if next := begun.Add(time.Duration(i+1) * time.Second); g.Next.Sub(next).Abs() > 100*time.Millisecond {
				t.Errorf("record %d: the next attempt is at %v, want %v", i, g.Next, next)
			}
		}
		if j.Failures[1].Stack == "" || strings.Contains(got[1].Error, "goroutine") {
			t.Errorf("the stack of the panic should be with the failure (%d bytes), and not in the log: %q", len(j.Failures[1].Stack), got[1].Error)
		}
		if g := got[2]; g.Level != "ERROR" || g.Message != "job discarded" || g.ID != id.String() || g.Kind != "note" || g.Attempt != 3 || g.Error != errFlaky.Error() {
			t.Errorf("the last record is %+v", g)
		}
	})
}

// TestFailuresAreLoggedSomeOfMany: failures beyond ten per kind and second are counted, also when the worker stops.
func TestFailuresAreLoggedSomeOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		r := newIdleRig(t)
		fail := func(context.Context, *job.Job) error { return errors.New("the server is down") }
		never := func(int, error) time.Duration { return 24 * time.Hour }
		r.startWorker(r.store, job.Config{Logger: slog.New(slog.NewJSONHandler(&text, nil))},
			job.HandleRaw("note", fail, job.Backoff(never)), job.HandleRaw("other", fail, job.Backoff(never)))
		enqueue := func(kind string, n int) {
			for range n {
				j, err := job.New(kind, json.RawMessage("null"))
				if err == nil {
					_, err = job.Insert(r.ctx, r.store, j)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		enqueue("note", 100)
		enqueue("other", 1)
		seconds(10)
		enqueue("note", 30)
		synctest.Wait()
		r.end()
		count, omitted := map[string]int{}, []int{}
		for _, g := range records(t, &text) {
			if g.Omitted > 0 {
				omitted = append(omitted, g.Omitted)
				if g.Message != "job: more attempts failed than are logged" || g.Kind != "note" || g.Level != "WARN" {
					t.Errorf("unexpected: %+v", g)
				}
				continue
			}
			count[g.Kind]++
		}
		if count["note"] != 20 || count["other"] != 1 || len(omitted) != 2 || omitted[0] != 90 || omitted[1] != 20 {
			t.Errorf("logged %v and omitted %v, want 20 of note and 1 of other, and 90 and 20 of note", count, omitted)
		}
	})
}
