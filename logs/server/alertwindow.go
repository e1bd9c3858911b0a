package server

import "time"

// windowParts is the number of parts in which a window is counted.
const windowParts = 60

// A countWindow counts events within a sliding window that ends now: each part of it separately, and the part that has begun.
type countWindow struct {
	part   time.Duration // the length of one
	newest int64         // the number of the part that has begun
	counts [windowParts + 1]int64
	total  int64 // of counts
}

func newCountWindow(length time.Duration) countWindow { return countWindow{part: length / windowParts} }

// add counts n at a time since some beginning.
func (w *countWindow) add(n int64, at time.Duration) {
	w.advance(at)
	w.counts[w.newest%int64(len(w.counts))] += n
	w.total += n
}

// advance removes the counts that are too old at a time.
func (w *countWindow) advance(at time.Duration) {
	part := int64(at / w.part)
	for range min(max(part-w.newest, 0), int64(len(w.counts))) {
		w.newest++
		oldest := &w.counts[w.newest%int64(len(w.counts))]
		w.total -= *oldest
		*oldest = 0
	}
	// After a longer time all parts are empty, and only the number of the newest one is to be set.
	w.newest = max(w.newest, part)
}
