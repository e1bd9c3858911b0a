package docs_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

var Remind = job.Define[Mail]("mail.remind")

// remind finds nobody.
var remind = Remind.Handle(func(context.Context, Mail) error { return job.Cancel(errNotFound) })

// An outbox keeps what its handlers send.
type outbox struct {
	refuse int // so many of the next

	mu   sync.Mutex
	sent []string
}

func (o *outbox) handlers() []job.Handler {
	return []job.Handler{
		SendMail.Handle(func(_ context.Context, m Mail) error { return o.send(m.Text) }),
		Remind.Handle(func(context.Context, Mail) error { return o.send("reminder") }),
	}
}

func (o *outbox) send(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse > 0 {
		o.refuse--
		return errors.New("the relay refused it")
	}
	o.sent = append(o.sent, text)
	return nil
}

func (o *outbox) texts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// A bank takes the money for each key once.
type bank struct {
	cents int
	keys  []string
}

func (b *bank) handler() job.Handler {
	return Charge.Handle(func(ctx context.Context, p Payment) error {
		j, _ := job.FromContext(ctx)
		if key := j.ID.String(); !slices.Contains(b.keys, key) {
			b.keys = append(b.keys, key)
			b.cents += p.Cents
		}
		return nil
	})
}

// signUp enqueues a welcome, and a reminder for three days later.
func signUp(ctx context.Context, jobs job.Inserter, user int) error {
	if _, err := SendMail.Enqueue(ctx, jobs, Mail{User: user, Text: "welcome"}); err != nil {
		return err
	}
	_, err := Remind.Enqueue(ctx, jobs, Mail{User: user}, job.In(72*time.Hour))
	return err
}

func TestSignUpEnqueues(t *testing.T) {
	store := memory.New()
	if err := signUp(t.Context(), store, 7); err != nil {
		t.Fatal(err)
	}
	jobtest.RequireEnqueued(t, store, SendMail, func(m Mail) bool { return m.User == 7 && m.Text == "welcome" })
	reminder := jobtest.RequireEnqueued(t, store, Remind, func(m Mail) bool { return m.User == 7 })
	if got := time.Until(reminder.RunAt).Round(time.Hour); got != 72*time.Hour {
		t.Errorf("the reminder comes after %v, want 72h", got)
	}
}

func TestNobodyToRemind(t *testing.T) {
	j, err := Remind.New(Mail{User: 404})
	if err != nil {
		t.Fatal(err)
	}
	if got := jobtest.Run(t, remind, j); got.Kind != job.JobCanceled || !errors.Is(got.Err, errNotFound) {
		t.Errorf("the job was %v, because %v; want it canceled", got.Kind, got.Err)
	}
}

func TestSignUpSendsTheWelcome(t *testing.T) {
	store, sent := memory.New(), outbox{}
	if err := signUp(t.Context(), store, 7); err != nil {
		t.Fatal(err)
	}
	jobtest.Drain(t, store, sent.handlers()...)
	if got := sent.texts(); !slices.Equal(got, []string{"welcome"}) {
		t.Errorf("sent %q, want the welcome alone: the reminder is not due yet", got)
	}
}

func TestReminderComesAfterThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, sent := memory.New(), outbox{}
		start := time.Now()
		if err := signUp(t.Context(), store, 7); err != nil {
			t.Fatal(err)
		}
		jobtest.DrainFor(t, store, 100*time.Hour, sent.handlers()...)
		if got, want := time.Since(start).Round(time.Minute), 72*time.Hour; got != want {
			t.Errorf("it took %v, want %v", got, want)
		}
		if got := sent.texts(); !slices.Equal(got, []string{"welcome", "reminder"}) {
			t.Errorf("sent %q", got)
		}
	})
}

func TestWelcomeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, sent := memory.New(), outbox{refuse: 3}
		enqueued, err := SendMail.Enqueue(t.Context(), store, Mail{User: 7, Text: "welcome"})
		if err != nil {
			t.Fatal(err)
		}
		jobtest.DrainFor(t, store, 100*time.Hour, sent.handlers()...)
		j, err := job.Find(t.Context(), store, enqueued.ID)
		if err != nil {
			t.Fatal(err)
		}
		if j.State != job.Completed || j.Used() != 4 || len(j.Failures) != 3 {
			t.Errorf("%s after %d attempts, want completed after 4: %v", j.State, j.Used(), j.Failures)
		}
	})
}

func TestHangingRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := SendMail.Handle(func(ctx context.Context, _ Mail) error { return meanwhile.Sleep(ctx, time.Hour) })
		store := memory.New()
		if _, err := SendMail.Enqueue(t.Context(), store, Mail{}, job.MaxAttempts(1)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		jobtest.Drain(t, store, hangs)
		if got := time.Since(start).Round(time.Second); got != time.Minute {
			t.Errorf("took %v, want the timeout of a minute", got)
		}
	})
}

func TestChargeTwice(t *testing.T) {
	var bank bank
	charge := bank.handler()
	j, err := Charge.New(Payment{Cents: 100})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := jobtest.Run(t, charge, j); got.Kind != job.JobCompleted {
			t.Fatal(got.Kind, got.Err)
		}
	}
	if bank.cents != 100 {
		t.Errorf("%d cents were taken, want 100", bank.cents)
	}
}

func TestOrderThatFailsHasNoJob(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tx, err := store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := signUp(t.Context(), store.Tx(tx), 7); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil { // the order was refused
		t.Fatal(err)
	}
	for j, err := range job.List(t.Context(), store, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s is left of an order that was refused", j.Kind)
	}
}
