package inspect

import (
	"testing"
	"time"
)

// Tasks with consecutive numbers share a page. Each has an entry of its own there, which is deleted independently.
func TestLastSeenPages(t *testing.T) {
	const tasks = 10
	table := lastSeenTable{pages: make(map[uint32]*lastSeenPage)}
	snapshot := func(now time.Duration, ids ...uint32) (counts []int) {
		for _, id := range ids {
			_, count := table.seen(&Node{ID: id, Name: "task"}, waitIdentity{}, now)
			counts = append(counts, count)
		}
		table.forget(now, now, true)
		return counts
	}
	var all []uint32
	for id := range uint32(tasks) {
		all = append(all, id)
	}
	snapshot(time.Second, all...)
	for i, count := range snapshot(2*time.Second, all...) {
		if count != 2 {
			t.Errorf("task %d is seen in %d snapshots in a row, want 2", i, count)
		}
	}
	if got := snapshot(3*time.Second, 1, 9); got[0] != 3 || got[1] != 3 {
		t.Errorf("the remaining tasks were seen in %v snapshots in a row, want 3", got)
	}
	if len(table.pages) != 2 {
		t.Errorf("there are %d pages for tasks 1 and 9, want 2", len(table.pages))
	}
	if got := snapshot(4*time.Second, 0, 1); got[0] != 1 || got[1] != 4 {
		t.Errorf("a task that returned and one that stayed were seen in %v snapshots in a row, want 1 and 4", got)
	}
	if snapshot(5 * time.Second); len(table.pages) > 0 {
		t.Errorf("%d pages are kept without a task", len(table.pages))
	}
}
