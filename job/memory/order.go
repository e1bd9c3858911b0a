package memory

import (
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// An order keeps all entries sorted by ID. IDs grow with time, so most are appended. Removed entries stay until they are half of
// all.
type order struct {
	entries []*entry
	dead    int
}

func (o *order) add(e *entry) {
	n := len(o.entries)
	if n == 0 || compareIDs(o.entries[n-1].ID, e.ID) < 0 {
		o.entries = append(o.entries, e)
		return
	}
	o.entries = slices.Insert(o.entries, o.find(e.ID), e)
}

// find returns the index of the first entry whose ID is id or after it.
func (o *order) find(id job.ID) int {
	i, _ := slices.BinarySearchFunc(o.entries, id, func(e *entry, id job.ID) int { return compareIDs(e.ID, id) })
	return i
}

// removed is called after an entry was marked as removed.
func (o *order) removed() {
	o.dead++
	if o.dead < 64 || o.dead < len(o.entries)/2 {
		return
	}
	o.entries = slices.DeleteFunc(o.entries, func(e *entry) bool { return e.removed })
	o.dead = 0
	if cap(o.entries) > 4*len(o.entries) {
		o.entries = slices.Clone(o.entries)
	}
}
