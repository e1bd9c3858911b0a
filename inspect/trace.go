package inspect

import (
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A trace is the stack of a goroutine, and its meaning.
type trace struct {
	pcs    []uintptr
	calls  []*location // the innermost first
	stacks []stack     // the parts that belong to tasks, the innermost first
	waiter scope.WaiterKind
	dials  bool // it establishes a connection of net/http
}

// A stack is the part of a goroutine's stack that belongs to one task: from the innermost call, or from where the scope inside the task begins,
// out to where the task begins.
type stack struct {
	calls  []*location // the innermost first
	begins beginning   // what begins at its outermost call
	wait   Wait        // what the task waits for, as far as the stack shows
	waiter scope.WaiterKind
	hash   uint64 // of the calls
}

// traces has the traces of a snapshot by a hash of their return addresses. Thousands of goroutines that wait at one place have the same stack,
// which is analyzed only once.
type traces map[uint64]*trace

// of returns the trace for the return addresses pcs, which must not change. The caller holds the mutex of places.
func (known traces) of(pcs []uintptr) *trace {
	hash := hashBasis
	for _, pc := range pcs {
		hash = hashed(hash, uint64(pc))
	}
	t := known[hash]
	if t != nil && slices.Equal(t.pcs, pcs) {
		return t
	}
	t = newTrace(pcs)
	known[hash] = t
	return t
}

func newTrace(pcs []uintptr) *trace {
	t := &trace{pcs: pcs, calls: placesAt(pcs)}
	t.waiter, t.dials = waiterFor(ourReason(t.calls)), dials(t.calls)
	begin := 0
	for i, p := range t.calls {
		if p.begins != beginsNone {
			t.stacks = append(t.stacks, newStack(t.calls[begin:i:i], p.begins))
			begin = i + 1
		}
	}
	return t
}

func newStack(calls []*location, begins beginning) stack {
	s := stack{calls: calls, begins: begins, wait: waitOf(calls), hash: hashBasis}
	s.waiter = waiterFor(s.wait.For)
	for _, p := range calls {
		s.hash = hashed(s.hash, p.serial)
	}
	return s
}

// hashBasis is the initial value of a hash.
const hashBasis uint64 = 14695981039346656037

// hashed adds x to a hash, as FNV-1a does.
func hashed(hash, x uint64) uint64 { return (hash ^ x) * 1099511628211 }

// dials reports whether a goroutine establishes a connection of net/http.
func dials(calls []*location) bool {
	return slices.ContainsFunc(calls, func(p *location) bool { return p.dials })
}

// placesAt returns the places of a stack. The caller holds the mutex of places.
func placesAt(pcs []uintptr) []*location {
	calls := make([]*location, len(pcs))
	for i, pc := range pcs {
		calls[i] = at(pc)
	}
	return calls
}

// A beginning is what begins with a call of a function of this module.
type beginning uint8

const (
	beginsNone beginning = iota
	beginsTask
	beginsScope
	beginsItem
	beginsSource // of a stream
	beginsBlocking
)

// beginnings has the functions that run a task, after its labels were set.
var beginnings = map[string]beginning{
	"meanwhile.(*goTask).call":    beginsTask,
	"meanwhile.(*asyncTask).call": beginsTask,
	"scope.(*Node).End":           beginsTask,
	"scope.(*Scope).call":         beginsScope,
	"meanwhile.(*worker).apply":   beginsItem,
	"meanwhile.(*flow).pump":      beginsSource,
	"meanwhile.callBlocking":      beginsBlocking,
}

func beginningOf(k scope.Kind) beginning {
	switch k {
	case scope.KindTask:
		return beginsTask
	case scope.KindItem:
		return beginsItem
	case scope.KindStream:
		return beginsSource
	}
	return beginsScope
}
