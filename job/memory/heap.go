package memory

import (
	"bytes"
	stdheap "container/heap"

	"github.com/meanwhile-go/meanwhile/job"
)

// A heap has the least entry on top, and can remove any entry.
type heap struct {
	less  func(a, b *entry) bool
	items []*entry
}

func (h *heap) push(e *entry)   { stdheap.Push(h, e) }
func (h *heap) remove(e *entry) { stdheap.Remove(h, e.index) }

// top returns the least entry, or nil.
func (h *heap) top() *entry {
	if len(h.items) == 0 {
		return nil
	}
	return h.items[0]
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (h *heap) Len() int           { return len(h.items) }
func (h *heap) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }
func (h *heap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}

func (h *heap) Push(x any) {
	e := x.(*entry)
	e.heap, e.index = h, len(h.items)
	h.items = append(h.items, e)
}

func (h *heap) Pop() any {
	last := len(h.items) - 1
	e := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	e.heap = nil
	return e
}

// ordered is a heap of jobs of a lane by their creation.
type ordered []*entry

// first returns the job that was created first, or nil.
func (o ordered) first() *entry {
	if len(o) == 0 {
		return nil
	}
	return o[0]
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (o ordered) Len() int { return len(o) }

func (o ordered) Less(i, j int) bool { return createdBefore(o[i], o[j]) }

func (o ordered) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *ordered) Push(x any) {
	e := x.(*entry)
	e.place = len(*o)
	*o = append(*o, e)
}

func (o *ordered) Pop() any {
	last := len(*o) - 1
	e := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return e
}

func createdBefore(a, b *entry) bool {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c < 0
	}
	return compareIDs(a.ID, b.ID) < 0
}

func dueBefore(a, b *entry) bool {
	if c := a.RunAt.Compare(b.RunAt); c != 0 {
		return c < 0
	}
	return compareIDs(a.ID, b.ID) < 0
}

func finishedBefore(a, b *entry) bool {
	if c := a.Finished.Compare(b.Finished); c != 0 {
		return c < 0
	}
	return compareIDs(a.ID, b.ID) < 0
}

func compareIDs(a, b job.ID) int { return bytes.Compare(a[:], b[:]) }
