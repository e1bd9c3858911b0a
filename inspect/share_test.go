package inspect

import (
	"testing"
	"time"
)

// The regular work of a watch takes at most three fifths of a hundredth of the time: the rest is for scans that take longer than the fastest,
// often twice as long, and for garbage collection.
func TestWatchLeavesRoomInItsShare(t *testing.T) {
	const took = 40 * time.Millisecond
	w := &watch{c: WatchConfig{}.withDefaults()}
	for i := range w.took {
		w.took[i] = took + time.Duration(i)*took
	}
	share := float64(took)/float64(w.affordable()) + 1.0/leakShare
	if share > 0.006 {
		t.Errorf("snapshots and the search for leaked goroutines take %.2f %% of the time, want at most 0.6", 100*share)
	}
}
