package memory_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func open(*testing.T) job.Store { return memory.New() }

func TestStore(t *testing.T) {
	t.Run("in time", func(t *testing.T) { jobtest.TestStore(t, open) })
	t.Run("in a bubble", func(t *testing.T) { jobtest.TestStoreInBubble(t, open) })
}
