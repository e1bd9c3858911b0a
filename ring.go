package meanwhile

import (
	"math/bits"
	"sync/atomic"
)

// A ring holds the items of a stream between its source and the workers, and their results between the workers and the loop:
// one slot for each place of the window. Its parts are allocated when they are first used, each twice as long as the one
// before it: a stream pays for the slots that it uses, not for its window.
type ring[In, Out any] struct {
	size  uint64 // a power of two
	parts [maxParts]atomic.Pointer[[]slot[In, Out]]
}

// A slot holds one item and one result. Its state encodes for which place the result is ready or waited for; a slot that was
// used before has the state of an earlier place.
type slot[In, Out any] struct {
	item  atomic.Pointer[item[In]] // stays after a worker has taken it, until the slot is used again
	state atomic.Uint64
	value Out
	err   error
}

// waited and ready are the states of a slot whose result the loop waits for, and of one whose result is ready.
func waited(place uint64) uint64 { return 2*place + 1 }
func ready(place uint64) uint64  { return 2*place + 2 }

const (
	firstPart = 32 // the length of the first part
	maxParts  = 20 // enough for maxWindow slots
)

func (r *ring[In, Out]) resize(window int) { r.size = uint64(1) << bits.Len(uint(window-1)) }

// at returns the slot of a place. Places that are a whole window apart share a slot.
func (r *ring[In, Out]) at(place uint64) *slot[In, Out] {
	place &= r.size - 1
	number := bits.Len64(place/firstPart+1) - 1
	begin := uint64(firstPart) * (1<<number - 1)
	part := &r.parts[number]
	slots := part.Load()
	if slots == nil {
		made := make([]slot[In, Out], min(firstPart<<number, r.size-begin))
		if part.CompareAndSwap(nil, &made) {
			slots = &made
		} else {
			slots = part.Load()
		}
	}
	return &(*slots)[place-begin]
}
