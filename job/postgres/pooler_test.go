package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestStoreBehindPooler(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract takes long")
	}
	url := newPooler(t, database(t, server()))
	n := 0
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		n++
		return open(t, fmt.Sprintf("%s?schema=s%d", url, n))
	})
}

// TestWaitBehindPooler: notices do not come through, so that Wait has to say by itself that somebody should look.
func TestWaitBehindPooler(t *testing.T) {
	s := open(t, newPooler(t, database(t, server())))
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // less than the time after which Wait returns anyway
		if err := s.Wait(ctx, job.DefaultQueue); err != nil {
			t.Errorf("Wait = %v", err)
		}
		cancel()
	}
}
