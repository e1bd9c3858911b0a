package postgres_test

import (
	"context"
	"testing"
	"time"
)

// A call that has written and then merges the counts does not wait long for a transaction that holds them.
func TestMergingTheCountsIsBounded(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	if _, err := tx.Exec(t.Context(), "select * from meanwhile.counts for update"); err != nil {
		t.Fatal(err)
	}
	s.MergeCounts()
	began := time.Now()
	if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second { // without a bound it is the 30 s of a call
		t.Errorf("the insert took %v while another transaction held the counts", took)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts, err := s.Counts(t.Context())
	if err != nil || len(counts) != 1 || counts[0].N != 2 {
		t.Errorf("got the counts %v, %v, want 2 jobs", counts, err)
	}
}
