package job

import (
	"testing"
	"time"
)

// TestCountingAllocatesNothing: counting a job does not allocate once its row exists.
func TestCountingAllocatesNothing(t *testing.T) {
	count := counters{worker: "w", clock: newStoreClock()}
	now := time.Now()
	count.clock.set(now, now, now)
	count.noteClock(now)
	jobs := []*Job{{Queue: "default", Kind: "a"}, {Queue: "default", Kind: "b"}}
	allocs := testing.AllocsPerRun(1000, func() {
		for _, j := range jobs {
			count.began(now, j, time.Millisecond)
			count.ended(now, j, Event{Kind: JobCompleted, Job: j, Elapsed: time.Second}, now)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for two jobs", allocs)
	}
	if stats, _ := count.report(now.Add(time.Hour), false); len(stats) != 2 || stats[0].Total() != 3*1001 {
		t.Errorf("counted %+v", stats)
	}
}
