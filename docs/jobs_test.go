package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A Mail is the args of a job: what to look up, rather than what was looked up, which may be old when the job runs.
type Mail struct {
	User int    `json:"user"`
	Text string `json:"text"`
}

var SendMail = job.Define[Mail]("mail.send", job.Queue("mail"), job.MaxAttempts(8), job.Timeout(time.Minute))

// The other kinds of the guide.
type (
	Text    struct{ Lines []string }
	Words   struct{ N int }
	Daily   struct{ Country string }
	Payment struct{ Cents int }
)

var (
	CountWords = job.Define[Text]("words.count")
	Report     = job.Define[Daily]("report")
	Sweep      = job.Define[struct{}]("sweep")
	Charge     = job.Define[Payment]("charge")
)

func Example_enqueue() {
	newYear := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	show(func(ctx context.Context, store job.Store) error {
		now, err := SendMail.Enqueue(ctx, store, Mail{User: 1, Text: "welcome"})
		if err != nil {
			return err
		}
		_, err = SendMail.Enqueue(ctx, store, Mail{User: 1, Text: "how is it?"}, job.In(72*time.Hour))
		if err != nil {
			return err
		}
		_, err = SendMail.Enqueue(ctx, store, Mail{User: 2, Text: "your code"}, job.Priority(9), job.MaxAttempts(2))
		if err != nil {
			return err
		}
		_, err = SendMail.Enqueue(ctx, store, Mail{User: 3, Text: "happy new year"}, job.At(newYear))
		if err != nil {
			return err
		}
		fmt.Println(now.Duplicate)
		for j, err := range job.List(ctx, store, job.Filter{}) {
			if err != nil {
				return err
			}
			fmt.Println(j.Queue, j.View(time.Now()), j.Priority, j.MaxAttempts, string(j.Args))
		}
		return nil
	})
	// Output:
	// false
	// mail scheduled 5 8 {"user":3,"text":"happy new year"}
	// mail queued 9 2 {"user":2,"text":"your code"}
	// mail scheduled 5 8 {"user":1,"text":"how is it?"}
	// mail queued 5 8 {"user":1,"text":"welcome"}
}

func Example_enqueueAll() {
	show(func(ctx context.Context, store job.Store) error {
		users := meanwhile.From(func(yield func(Mail) bool) {
			for id := range 10_000 {
				if !yield(Mail{User: id, Text: "news"}) {
					return
				}
			}
		})
		bulk, err := SendMail.EnqueueAll(ctx, store, users)
		if err != nil {
			return err
		}
		fmt.Println(bulk.Enqueued, bulk.Duplicates)
		return nil
	})
	// Output:
	// 10000 0
}

type traceKey struct{}

func traceparent(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

func withTraceparent(ctx context.Context, trace string) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

func Example_beforeInsert() {
	show(func(ctx context.Context, store job.Store) error {
		ctx = withTraceparent(ctx, "00-4bf9-00f0-01")
		inserter := job.BeforeInsert(store, func(ctx context.Context, j *job.Job) error {
			j.Meta["traceparent"] = traceparent(ctx)
			return nil
		})
		_, err := SendMail.Enqueue(ctx, inserter, Mail{User: 7})
		if err != nil {
			return err
		}
		restore := func(next job.HandlerFunc) job.HandlerFunc {
			return func(ctx context.Context, j *job.Job) error {
				return next(withTraceparent(ctx, j.Meta["traceparent"]), j)
			}
		}
		handler := restore(func(ctx context.Context, _ *job.Job) error {
			fmt.Println(traceparent(ctx))
			return nil
		})
		for j, err := range job.List(ctx, store, job.Filter{Meta: map[string]string{"traceparent": "00-4bf9-00f0-01"}}) {
			if err != nil {
				return err
			}
			if err := handler(context.Background(), j); err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// 00-4bf9-00f0-01
}

func Example_unique() {
	show(func(ctx context.Context, store job.Store) error {
		first, err := SendMail.Enqueue(ctx, store, Mail{User: 7}, job.Unique("reminder/7"))
		if err != nil {
			return err
		}
		second, err := SendMail.Enqueue(ctx, store, Mail{User: 7}, job.Unique("reminder/7"))
		if err != nil {
			return err
		}
		fmt.Println(first.Duplicate, second.Duplicate, first.ID == second.ID)
		return nil
	})
	// Output:
	// false true true
}

// A person is whom the handlers of the guide find.
type person struct{ asleep bool }

// find finds user 1, who is awake, and user 2, who sleeps. User 3 cannot be found now, and others do not exist.
func find(_ context.Context, user int) (person, error) {
	switch user {
	case 1, 2:
		return person{asleep: user == 2}, nil
	case 3:
		return person{}, errors.New("the database is away")
	}
	return person{}, errNotFound
}

func deliver(context.Context, person, string) error { return nil }

func TestOutcomesOfTheGuide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send := SendMail.Handle(func(ctx context.Context, m Mail) error {
			user, err := find(ctx, m.User)
			switch {
			case errors.Is(err, errNotFound):
				return job.Cancel(err) // there is nobody to write to
			case err != nil:
				return err // the database is away: again after the backoff
			case user.asleep:
				return job.Snooze(time.Hour) // nothing failed: no attempt is used
			}
			return deliver(ctx, user, m.Text)
		})
		store := memory.New()
		defer store.Close()
		for user, want := range map[int]job.State{1: job.Completed, 2: job.Scheduled, 3: job.Retrying, 4: job.Canceled} {
			enqueued, err := SendMail.Enqueue(t.Context(), store, Mail{User: user})
			if err != nil {
				t.Fatal(err)
			}
			runFor(t, store, 100*time.Millisecond, job.Config{}, send)
			if got := findJob(t, store, enqueued.ID).View(time.Now()); got != want {
				t.Errorf("user %d: the job is %s, want %s", user, got, want)
			}
		}
	})
}

func TestMiddlewareOfTheGuide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(before)
		timed := func(next job.HandlerFunc) job.HandlerFunc {
			return func(ctx context.Context, j *job.Job) error {
				start := time.Now()
				err := next(ctx, j)
				slog.InfoContext(ctx, "an attempt is over", "kind", j.Kind, "took", time.Since(start))
				return err
			}
		}
		store := memory.New()
		defer store.Close()
		if _, err := SendMail.Enqueue(t.Context(), store, Mail{}); err != nil {
			t.Fatal(err)
		}
		runFor(t, store, 11*time.Second, job.Config{Middleware: []job.Middleware{timed}}, handlers...)
		if got, want := log.String(), `msg="an attempt is over" kind=mail.send took=10s`; !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q in it", got, want)
		}
	})
}

func Example_kept() {
	var log bytes.Buffer
	logger := slog.New(job.LogHandler(slog.NewTextHandler(&log, nil)))
	show(func(ctx context.Context, store job.Store) error {
		enqueued, err := CountWords.Enqueue(ctx, store, Text{Lines: []string{"to be or", "not to be"}})
		if err != nil {
			return err
		}
		count := job.HandleResult(CountWords, func(ctx context.Context, text Text) (Words, error) {
			logger.InfoContext(ctx, "counting", "lines", len(text.Lines))
			var words Words
			for i, line := range text.Lines {
				words.N += len(strings.Fields(line))
				job.Progress(ctx, int64(i+1), int64(len(text.Lines)))
			}
			return words, nil
		})
		if err := workUntilDone(ctx, store, 1, count); err != nil {
			return err
		}
		var words Words
		if err := CountWords.Await(ctx, store, enqueued.ID, &words); err != nil {
			return err
		}
		fmt.Println(words.N)
		found, err := job.Find(ctx, store, enqueued.ID)
		if err != nil {
			return err
		}
		fmt.Println(found.State, string(found.Result), found.Progress.Done, found.Progress.Total)
		for _, r := range found.Records {
			fmt.Println(r.Level, r.Message, r.Attrs)
		}
		return nil
	})
	// Output:
	// 6
	// completed {"N":6} 2 2
	// INFO counting lines=2
}

func Example_then() {
	count := CountWords.Handle(func(ctx context.Context, text Text) error {
		mail, err := SendMail.New(Mail{User: 1, Text: fmt.Sprint(len(text.Lines), " lines")})
		if err != nil {
			return err
		}
		return job.Then(ctx, mail)
	})
	send := SendMail.Handle(func(_ context.Context, m Mail) error {
		fmt.Println(m.Text)
		return nil
	})
	show(func(ctx context.Context, store job.Store) error {
		if _, err := CountWords.Enqueue(ctx, store, Text{Lines: []string{"a b", "c"}}); err != nil {
			return err
		}
		return workUntilDone(ctx, store, 2, count, send)
	})
	// Output:
	// 2 lines
}

func Example_claimer() {
	runElsewhere := func(j *job.Job) error {
		fmt.Println(j.Kind, string(j.Args))
		return nil
	}
	show(func(ctx context.Context, store job.Store) error {
		if _, err := CountWords.Enqueue(ctx, store, Text{Lines: []string{"a b"}}); err != nil {
			return err
		}
		claimer := job.NewClaimer(store)
		got, err := claimer.Fetch(ctx, job.Fetch{Worker: "ruby-1", Queues: []string{"default"}, Lease: time.Minute, Wait: 20 * time.Second})
		if err != nil {
			return err
		}
		for _, j := range got.Jobs {
			failed := runElsewhere(j) // nil, or an error as a handler returns it
			lost, err := claimer.Finish(ctx, job.End{Session: got.Session, ID: j.ID, Attempt: j.Attempt, Err: failed})
			if err != nil {
				return err
			}
			fmt.Println(len(lost), "lost")
		}
		return nil
	})
	// Output:
	// words.count {"Lines":["a b"]}
	// 0 lost
}

func Example_queues() {
	handlers := []job.Handler{SendMail.Handle(func(context.Context, Mail) error { return nil })}
	show(func(ctx context.Context, store job.Store) error {
		worker := job.NewWorker(store, job.Config{
			Concurrency: 1000,
			Queues: []job.QueueConfig{
				{Name: "mail", Weight: 3},
				{Name: "search", Weight: 1, Concurrency: 200},
				{Name: "default", Weight: 1},
			},
		}, handlers...)
		ctx, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		defer stop()
		fmt.Println(worker.Run(ctx))
		return nil
	})
	// Output:
	// <nil>
}

func TestCronsOfTheGuide(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	synctest.Test(t, func(t *testing.T) {
		crons := []job.Cron{
			{Name: "report", Spec: "30 6 * * mon-fri", Zone: berlin, Job: Report.Maker(Daily{Country: "DE"})},
			{Name: "sweep", Spec: "@every 10m", CatchUp: job.CatchUpNone, Job: Sweep.Maker(struct{}{})},
		}
		store := memory.New()
		defer store.Close()
		var reports, sweeps int
		time.Sleep(2 * 24 * time.Hour) // a bubble begins on a Saturday, at midnight
		runFor(t, store, 9*time.Hour+time.Second, job.Config{Crons: crons},
			Report.Handle(func(context.Context, Daily) error { reports++; return nil }),
			Sweep.Handle(func(context.Context, struct{}) error { sweeps++; return nil }))
		if reports != 1 || sweeps != 9*6 {
			t.Errorf("%d reports and %d sweeps in nine hours, want 1 and 54", reports, sweeps)
		}
	})
}

var handlers = []job.Handler{SendMail.Handle(func(ctx context.Context, _ Mail) error {
	return meanwhile.Sleep(ctx, 10*time.Second)
})}

func serveJobs(ctx context.Context, store job.Store) error {
	return job.NewWorker(store, job.Config{Grace: 20 * time.Second}, handlers...).Run(ctx)
}

func serveBoth(ctx context.Context, file string, serve func(context.Context) error) error {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, job.NewWorker(store, job.Config{}, handlers...).Run, meanwhile.Name("worker"))
		return serve(ctx)
	})
}

// TestServeBothClosesTheStoreLast stops a server and its worker, which would fail on a store that is closed.
func TestServeBothClosesTheStoreLast(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := serveBoth(ctx, filepath.Join(t.TempDir(), "jobs.db"), func(context.Context) error { stop(); return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestServeJobsLetsThemEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		enqueued, err := SendMail.Enqueue(t.Context(), store, Mail{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := serveJobs(ctx, store); err != nil {
			t.Error(err)
		}
		if got := findJob(t, store, enqueued.ID); got.State != job.Completed {
			t.Errorf("the job is %s: it was not given the time to end", got.State)
		}
	})
}

func Example_actions() {
	show(func(ctx context.Context, store job.Store) error {
		for range 3 {
			if _, err := SendMail.Enqueue(ctx, store, Mail{User: 1}, job.MaxAttempts(1)); err != nil {
				return err
			}
		}
		refused := SendMail.Handle(func(context.Context, Mail) error { return errors.New("the relay refused it") })
		if err := workUntilDone(ctx, store, 3, refused); err != nil {
			return err
		}
		failed := job.Filter{Kinds: []string{"mail.send"}, States: []job.State{job.Discarded}, Error: "relay refused"}
		for j, err := range job.List(ctx, store, failed) {
			if err != nil {
				return err
			}
			fmt.Println(j.Kind, j.State, j.LastError())
		}
		result, err := job.Apply(ctx, store, failed, job.ActionRetry)
		if err != nil {
			return err
		}
		fmt.Println(result.Changed)
		return nil
	})
	// Output:
	// mail.send discarded the relay refused it
	// mail.send discarded the relay refused it
	// mail.send discarded the relay refused it
	// 3
}

func TestRetentionOfTheGuide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep := map[job.State]time.Duration{
			job.Completed: time.Hour,
			job.Canceled:  24 * time.Hour,
			job.Discarded: -1, // for ever
		}
		store := memory.New()
		defer store.Close()
		left := map[job.State]int{}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			for _, err := range []error{nil, job.Cancel(nil), retry.Permanent(errNotFound)} {
				if _, err := SendMail.Enqueue(ctx, store, Mail{}); err != nil {
					return err
				}
				runFor(t, store, time.Second, job.Config{}, SendMail.Handle(func(context.Context, Mail) error { return err }))
			}
			time.Sleep(24 * time.Hour)
			runFor(t, store, 2*time.Minute, job.Config{Retention: keep}, handlers...)
			for j, err := range job.List(ctx, store, job.Filter{}) {
				if err != nil {
					return err
				}
				left[j.State]++
			}
			return nil
		})
		if err != nil || len(left) != 1 || left[job.Discarded] != 1 {
			t.Errorf("left are %v, error %v; want the discarded job alone", left, err)
		}
	})
}

func TestChargeKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := map[string]int{}
		pay := func(_ context.Context, _ Payment, key string) error {
			if keys[key]++; keys[key] == 1 {
				return errors.New("the line is dead")
			}
			return nil
		}
		charge := Charge.Handle(func(ctx context.Context, p Payment) error {
			j, _ := job.FromContext(ctx)
			return pay(ctx, p, j.ID.String()) // the bank knows the key, and takes the money once
		})
		store := memory.New()
		defer store.Close()
		enqueued, err := Charge.Enqueue(t.Context(), store, Payment{Cents: 100})
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, store, time.Minute, job.Config{}, charge)
		if len(keys) != 1 || keys[enqueued.ID.String()] != 2 {
			t.Errorf("got the keys %v, want one, twice: the ID of the job", keys)
		}
	})
}

func TestJobMessages(t *testing.T) {
	two := func() {
		send := SendMail.Handle(func(context.Context, Mail) error { return nil })
		panic(job.NewWorker(memory.New(), job.Config{}, send, send).Run(context.Background()))
	}
	explains(t, "jobs.md",
		panicOf(func() { job.Define[Mail]("k", job.Timeout(0)) }),
		strings.SplitAfter(panicOf(func() { job.Define[Mail]("") }), "is empty")[0],
		panicOf(two))
}
