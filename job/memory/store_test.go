package memory_test

import (
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func open(*testing.T) job.Store { return memory.New() }

func openBesideOthers(t *testing.T) job.Store {
	t.Parallel()
	return open(t)
}

func TestMain(m *testing.M) {
	testenv.Parallel(8)
	os.Exit(m.Run())
}

func TestStore(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		testenv.LongTest(t) // waits in real time; in the bubble below waiting takes no time
		jobtest.TestStore(t, openBesideOthers)
	})
	t.Run("in a bubble", func(t *testing.T) { jobtest.TestStoreInBubble(t, open) })
}
