package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

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
	patient, impatient := newJob(), newJob()
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := s.Insert(ctx, patient)
			return err
		})
		for s.writerMu.TryLock() { // until the patient one writes
			s.writerMu.Unlock()
			runtime.Gosched()
		}
		gaveUp, cancel := context.WithCancel(ctx)
		waits := meanwhile.Go(ctx, func(ctx context.Context) error {
			if _, err := s.Insert(gaveUp, impatient); !errors.Is(err, context.Canceled) {
				t.Errorf("the impatient call returned %v, want context.Canceled", err)
			}
			return nil
		})
		cancel()
		if _, err := waits.Wait(ctx); err != nil {
			return err
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
