package meanwhile

import (
	"math/bits"
	"sync/atomic"
)

// A ring holds the results of a stream between the workers and the loop: one slot for each place of the window. Its parts
// are made when they are first used, so that a short stream does not pay for a long window.
type ring[Out any] struct {
	size  uint64 // a power of two
	parts []atomic.Pointer[[]slot[Out]]
	shift int // from a place to its part
}

// A slot is the place of one result. Its state says who has it: empty and waited belong to the workers, ready to the loop.
type slot[Out any] struct {
	state atomic.Uint32
	value Out
	err   error
}

const (
	slotEmpty  uint32 = iota
	slotReady         // the result is there
	slotWaited        // empty, and the loop waits for it
)

// partSlots is the length of a part.
const partSlots = 32

func newRing[Out any](window int) ring[Out] {
	size := uint64(1) << bits.Len(uint(window-1))
	part := min(size, partSlots)
	return ring[Out]{
		size: size, parts: make([]atomic.Pointer[[]slot[Out]], size/part), shift: bits.TrailingZeros64(part),
	}
}

// at returns the slot of a place, which it shares with those that are a whole window away.
func (r *ring[Out]) at(place uint64) *slot[Out] {
	place &= r.size - 1
	part := &r.parts[place>>r.shift]
	slots := part.Load()
	if slots == nil {
		made := make([]slot[Out], 1<<r.shift)
		if part.CompareAndSwap(nil, &made) {
			slots = &made
		} else {
			slots = part.Load()
		}
	}
	return &(*slots)[place&(1<<r.shift-1)]
}
