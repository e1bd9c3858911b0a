package fetch

import (
	"container/list"
	"fmt"
	"sync"
	"time"
)

const (
	maxOldest = 3           // requests in flight that the view shows
	oldAge    = time.Second // younger attempts change too quickly to be read
)

// An inFlight has the running attempts in the order of their start.
type inFlight struct {
	mu   sync.Mutex
	list list.List // of *attempt
}

// An attempt is a running attempt.
type attempt struct {
	url   string
	clock *clock
}

// enter adds an attempt. Call leave when it ends.
func (f *inFlight) enter(url string, c *clock) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.list.PushBack(&attempt{url, c})
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.list.Remove(e)
	}
}

func (f *inFlight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list.Len()
}

// oldest describes the attempts that have been running for the longest time, if that is long, one per line.
func (f *inFlight) oldest(now time.Time) []string {
	var lines []string
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := f.list.Front(); e != nil && len(lines) < maxOldest; e = e.Next() {
		at := e.Value.(*attempt)
		age := now.Sub(at.clock.begun)
		if age < oldAge {
			break
		}
		lines = append(lines, fmt.Sprintf("  %6s  %s  %s", shortTime(age), at.clock.phase(), printable(at.url)))
	}
	return lines
}
