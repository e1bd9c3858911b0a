package faktory_test

import (
	"runtime"
	"testing"
	"time"
)

// TestAClientThatEndsWhileItWaits: a job that arrives after the connection of a waiting client was closed goes to another client immediately, with
// all its attempts.
func TestAClientThatEndsWhileItWaits(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there, only the next write shows that a connection was closed")
	}
	t.Parallel()
	overEachStore(t, func(r *rig) {
		ended, other := r.worker("ended"), r.worker("other")
		ended.send("FETCH default\n")
		time.Sleep(100 * time.Millisecond) // until it waits
		ended.socket.Close()
		time.Sleep(100 * time.Millisecond) // until that has arrived
		other.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[],"retry":0}`, "+OK")
		if got := other.fetch("default"); got == nil {
			r.Error("the job is leased to a client that has disconnected")
		}
	})
}
