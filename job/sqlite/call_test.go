package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestSynced: a write that is acknowledged as durable is synced, even if it shares a transaction with an unsynced one.
func TestSynced(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const normal, full = 1, 2
	level := func() int64 {
		s.writerMu.Lock()
		defer s.writerMu.Unlock()
		row, err := one(s.writer, "pragma synchronous")
		if err != nil {
			t.Fatal(err)
		}
		return integer(row[0])
	}
	nothing := func(*txn) error { return nil }
	for _, c := range []struct {
		name  string
		calls []*call
		want  int64
	}{
		{"a claim", []*call{{unsynced: true}}, normal},
		{"an insert", []*call{{}}, full},
		{"claims", []*call{{unsynced: true}, {unsynced: true}}, normal},
		{"a claim and an insert", []*call{{unsynced: true}, {}}, full},
		{"a change", []*call{{alone: true}}, full},
	} {
		for _, call := range c.calls {
			call.run, call.done = nothing, make(chan struct{})
		}
		if _, err := s.flush(t.Context(), c.calls); err != nil {
			t.Fatal(err)
		}
		if got := level(); got != c.want {
			t.Errorf("after %s: synchronous is %d, want %d", c.name, got, c.want)
		}
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 1}}, Limit: 1, Lease: 1e9}
	durable := claim
	durable.Durable = true
	for c, want := range map[*job.Claim]int64{&claim: normal, &durable: full} {
		if _, err := s.Claim(t.Context(), *c); err != nil {
			t.Fatal(err)
		}
		if got := level(); got != want {
			t.Errorf("after Claim with Durable %t: synchronous is %d, want %d", c.Durable, got, want)
		}
	}
}

// A waitedFor context signals when somebody waits for its end, as a call does while it is queued behind others.
type waitedFor struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (c *waitedFor) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waits) })
	return c.Context.Done()
}

func TestGiveUpWhileOthersWrite(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	newJob := func() *job.Job {
		j, err := job.New("k", json.RawMessage(`null`))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	tx, err := s.DB().BeginTx(t.Context(), nil) // holds the lock
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	patient := newJob()
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := s.Insert(ctx, patient)
			return err
		})
		for s.writerMu.TryLock() { // until the patient call is writing
			s.writerMu.Unlock()
			runtime.Gosched()
		}
		gaveUp, cancel := context.WithCancel(ctx)
		defer cancel()
		var waits []*meanwhile.Task[struct{}]
		for range 50 {
			impatient, queued := newJob(), &waitedFor{Context: gaveUp, waits: make(chan struct{})}
			waits = append(waits, meanwhile.Go(ctx, func(ctx context.Context) error {
				defer queued.Done() // also if the call did not wait
				if _, err := s.Insert(queued, impatient); !errors.Is(err, context.Canceled) {
					t.Errorf("an impatient call returned %v, want context.Canceled", err)
				}
				return nil
			}))
			<-queued.waits
		}
		cancel()
		for _, w := range waits {
			if _, err := w.Wait(ctx); err != nil {
				return err
			}
		}
		return tx.Rollback()
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.List(t.Context(), job.Filter{Limit: 10})
	if err != nil || len(jobs) != 1 || jobs[0].ID != patient.ID {
		t.Errorf("there are %d jobs, %v; want only that of the call that waited", len(jobs), err)
	}
}
