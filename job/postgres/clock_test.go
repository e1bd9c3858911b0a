package postgres_test

import (
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestStoreWithAnotherClock runs the contract on a server whose clock is an hour behind ours. libfaketime sets it; it could not
// set one ahead, since the timers of such a server do not fire, and with them goes its finding of deadlocks.
func TestStoreWithAnotherClock(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		testenv.Missing(t, "no libfaketime in /usr/lib (Debian: apt-get install faketime)")
	}
	jobtest.TestStore(t, emptied(t, newServer(t, "LD_PRELOAD="+found[0], "FAKETIME=-3600").url()))
}
