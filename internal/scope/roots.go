package scope

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// registry has the roots of the process: the scopes and streams with no task above them. Each root occupies its slot, which needs no
// lock, or, when the slot is occupied, is in a map. There are several maps, so that programs with thousands of trees at once do not
// contend for one mutex.
var registry [16]struct {
	slots [64]atomic.Pointer[Node]
	mu    sync.Mutex
	more  map[*Node]struct{} // guarded by mu
}

// RootOf returns the root above the task of ctx.
func RootOf(ctx context.Context) *Node {
	n := From(ctx)
	for p := n.Parent; p != nil; p = n.Parent {
		n = p
	}
	return n
}

// Register adds n to the roots.
func (n *Node) Register() {
	id := n.ident.id()
	r := &registry[id%uint32(len(registry))]
	if r.slots[id/uint32(len(registry))%uint32(len(r.slots))].CompareAndSwap(nil, n) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more == nil {
		r.more = make(map[*Node]struct{})
	}
	r.more[n] = struct{}{}
}

// Unregister removes n from the roots.
func (n *Node) Unregister() {
	id := n.ident.id()
	r := &registry[id%uint32(len(registry))]
	if r.slots[id/uint32(len(registry))%uint32(len(r.slots))].CompareAndSwap(n, nil) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.more, n)
}

// Roots returns the roots of the process, the oldest first.
func Roots() []*Node {
	var all []*Node
	for i := range registry {
		r := &registry[i]
		for j := range r.slots {
			if n := r.slots[j].Load(); n != nil {
				all = append(all, n)
			}
		}
		r.mu.Lock()
		for n := range r.more {
			all = append(all, n)
		}
		r.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b *Node) int { return cmp.Compare(a.ident.id(), b.ident.id()) })
	return all
}
