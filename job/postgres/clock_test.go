package postgres_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestStoreWithAnotherClock runs the contract on a server whose clock is an hour behind ours. libfaketime sets it; it could not
// set one ahead, since the timers of such a server do not fire, and with them goes its finding of deadlocks.
func TestStoreWithAnotherClock(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	library, err := testenv.FakeTimePath()
	if err != nil {
		testenv.FakeTime.Missing(t, err)
	}
	jobtest.TestStore(t, sharing(t, newServer(t, "LD_PRELOAD="+library, "FAKETIME=-3600").url()))
}
