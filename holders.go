package meanwhile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

const (
	maxHolders = 64 // that a semaphore remembers
	mostTakers = 3  // of them that a wait names
)

// holders are the tasks that took what is held of a semaphore, by the label sets of the goroutines that called Acquire. A
// semaphore has no owner: another goroutine may release what one took. So it is forgotten who took what, until all is free,
// when there is a Release by a goroutine that has not taken as much, and when there are too many to remember. The label sets
// keep no task from being collected. The semaphore's mutex guards it.
type holders struct {
	list     []holder
	unknown  bool // what is in the list is not all
	released bool // a task has once released what it took
	handed   bool // a goroutine has once released what another took
}

// A holder is a task, with how much it took and has not released.
type holder struct {
	set    goroutine.Address
	weight int
}

// add notes that the goroutine with the label set took a weight.
func (h *holders) add(set goroutine.Address, weight int) {
	if h.unknown || weight == 0 {
		return
	}
	for i := range h.list {
		if h.list[i].set == set {
			h.list[i].weight += weight
			return
		}
	}
	if len(h.list) == maxHolders {
		h.forget()
		h.unknown = true
		return
	}
	h.list = append(h.list, holder{set, weight})
}

// remove notes that the running goroutine released a weight. The rest is what is still held.
func (h *holders) remove(weight, rest int) {
	switch {
	case weight == 0:
	case h.unknown:
		h.unknown = rest > 0
	case !h.take(goroutine.Current(), weight):
		h.forget()
		h.handed, h.unknown = true, rest > 0
	}
}

// take subtracts a weight from what the goroutine with the label set took, if that was as much.
func (h *holders) take(set goroutine.Address, weight int) bool {
	for i := range h.list {
		one := &h.list[i]
		if one.set != set {
			continue
		}
		if one.weight < weight {
			return false
		}
		if one.weight -= weight; one.weight == 0 {
			last := len(h.list) - 1
			h.list[i], h.list[last] = h.list[last], holder{}
			h.list = h.list[:last]
		}
		h.released = true
		return true
	}
	return false
}

func (h *holders) forget() {
	clear(h.list)
	h.list = h.list[:0]
}

// describe says how much of s is held, where it was made, and which tasks took it, as far as all of them are known.
func (s *Semaphore) describe(r *runners) string {
	s.mu.Lock()
	held, size, takers := s.held, s.size, slices.Clone(s.holders.list)
	s.mu.Unlock()
	text := strconv.Itoa(held) + " of " + strconv.Itoa(size) + " held"
	if s.made[0] != 0 {
		f := at(s.made[0])
		text += fmt.Sprintf(", made at %s:%d", filepath.Base(f.File), f.Line)
	}
	var paths []string
	for _, h := range takers {
		path := r.pathOf(h.set)
		if path == "" {
			return text
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return text
	}
	slices.Sort(paths)
	if more := len(paths) - mostTakers; more > 0 {
		paths = append(paths[:mostTakers], strconv.Itoa(more)+" more")
	}
	text += takenBy + strings.Join(paths[:len(paths)-1], ", ")
	if len(paths) > 1 {
		text += " and "
	}
	return text + paths[len(paths)-1]
}

// takenBy stands in a description before those who took a semaphore.
const takenBy = ", taken by "
