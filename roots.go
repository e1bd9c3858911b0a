package meanwhile

import (
	"cmp"
	"slices"
	"sync"
)

// A root is the place of a scope or stream, which no task is above, among the trees of the process. The lists are several,
// so that programs with a tree for each request do not meet at one mutex.
type root struct {
	n          *node
	prev, next *root
}

type grove struct {
	mu    sync.Mutex
	first *root
	_     [40]byte // the rest of a cache line
}

var groves [16]grove

func (r *root) grove() *grove { return &groves[r.n.ident.id()%uint32(len(groves))] }

// plant makes n known as a root.
func (r *root) plant(n *node) {
	r.n = n
	g := r.grove()
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.next = g.first; r.next != nil {
		r.next.prev = r
	}
	g.first = r
}

// fell ends that.
func (r *root) fell() {
	g := r.grove()
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		g.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
}

// roots returns the roots of the process, the oldest first.
func roots() []*node {
	var all []*node
	for i := range groves {
		g := &groves[i]
		g.mu.Lock()
		for r := g.first; r != nil; r = r.next {
			all = append(all, r.n)
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b *node) int { return cmp.Compare(a.ident.id(), b.ident.id()) })
	return all
}
