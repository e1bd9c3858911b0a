package redis_test

import (
	"crypto/rand"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	if err := s.FillOverrides(t.Context(), "q", job.MaxOverrides-1); err != nil {
		t.Fatal(err)
	}
	jobtest.TestMostOverrides(t, s)
}
