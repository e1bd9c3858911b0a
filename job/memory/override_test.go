package memory_test

import (
	"fmt"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	s := memory.New()
	for i := range job.MaxOverrides - 1 {
		if err := s.SetKeyLimits(t.Context(), "q", fmt.Sprint(i), job.KeyLimits{Running: 1}); err != nil {
			t.Fatal(err)
		}
	}
	jobtest.TestMostOverrides(t, s)
}
