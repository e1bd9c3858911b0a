package scope

import "github.com/meanwhile-go/meanwhile/internal/goroutine"

// maxHolders is how many holders a semaphore remembers.
const maxHolders = 64

// holders records which tasks hold a semaphore, by the label sets of the goroutines that called Acquire. A semaphore has no owner: a
// goroutine may release what another one acquired. When a goroutine releases more than it acquired, or when there are too many holders,
// the list is cleared, and stays incomplete until nothing is held. The label sets do not keep tasks from being garbage-collected. The
// semaphore's mutex guards it.
type holders struct {
	List            []holder
	Unknown         bool // the list is incomplete
	Released        bool // a task has released what it acquired, at least once
	ReleasedByOther bool // a goroutine has released what another one acquired, at least once
}

// A holder is a task, with the weight that it has acquired and not released.
type holder struct {
	Set    goroutine.Address
	Weight int
}

// add records that the goroutine with the label set acquired a weight.
func (h *holders) add(set goroutine.Address, weight int) {
	if h.Unknown || weight == 0 {
		return
	}
	for i := range h.List {
		if h.List[i].Set == set {
			h.List[i].Weight += weight
			return
		}
	}
	if len(h.List) == maxHolders {
		h.forget()
		h.Unknown = true
		return
	}
	h.List = append(h.List, holder{set, weight})
}

// remove records that the running goroutine released a weight. rest is how much is still held.
func (h *holders) remove(weight, rest int) {
	switch {
	case weight == 0:
	case h.Unknown:
		h.Unknown = rest > 0
	case !h.subtract(goroutine.Current(), weight):
		h.forget()
		h.ReleasedByOther, h.Unknown = true, rest > 0
	}
}

// subtract subtracts a weight from that of the goroutine with the label set. It returns false if the goroutine holds less.
func (h *holders) subtract(set goroutine.Address, weight int) bool {
	for i := range h.List {
		one := &h.List[i]
		if one.Set != set {
			continue
		}
		if one.Weight < weight {
			return false
		}
		if one.Weight -= weight; one.Weight == 0 {
			last := len(h.List) - 1
			h.List[i], h.List[last] = h.List[last], holder{}
			h.List = h.List[:last]
		}
		h.Released = true
		return true
	}
	return false
}

func (h *holders) forget() {
	clear(h.List)
	h.List = h.List[:0]
}
