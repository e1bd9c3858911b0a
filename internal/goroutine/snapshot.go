package goroutine

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Set gives the running goroutine the label set s. It may be called only where [Exact] is true, as may Current and
// [Address.Restore].
func (s *Set) Set() { setLabels(unsafe.Pointer(s)) }

// Current returns the address of the running goroutine's label set.
func Current() Address { return Address{getLabels()} }

// Restore gives the running goroutine the label set it had when [Current] returned a.
func (a Address) Restore() { setLabels(a.set) }

// A Record is what one goroutine did at the moment of a snapshot.
type Record struct {
	Set   Address
	Stack []uintptr // return addresses, the innermost first, as runtime.Callers has them
}

// MaxDepth is how many calls of a stack a snapshot has at most, unless GODEBUG sets profstackdepth.
const MaxDepth = 128

// Snapshot calls f with what each goroutine of the process does at one moment, or returns false when their label sets
// cannot be told on this version of Go. The records are valid until f returns. It stops the world twice for some
// microseconds, not while it goes from one goroutine to the next: each of them is recorded before it runs again.
func Snapshot(f func([]Record)) bool {
	if !Exact || !truthful() {
		return false
	}
	b, _ := buffers.Get().(*buffer)
	if b == nil {
		b = new(buffer)
	}
	f(b.read())
	b.clear()
	buffers.Put(b)
	return true
}

// buffers keeps what the last snapshot was read into, for the next one.
var buffers sync.Pool

type buffer struct {
	stacks  []stackRecord
	labels  []unsafe.Pointer
	records []Record
}

func (b *buffer) read() []Record {
	size := runtime.NumGoroutine() + 16
	for {
		b.stacks = slices.Grow(b.stacks[:0], size)[:size]
		b.labels = slices.Grow(b.labels[:0], size)[:size]
		n, ok := profile(b.stacks, b.labels)
		if ok {
			b.records = slices.Grow(b.records[:0], n)[:n]
			for i := range n {
				b.records[i] = Record{Address{b.labels[i]}, b.stacks[i].stack}
			}
			return b.records
		}
		size = n + n/8 + 16
	}
}

// clear lets go of the stacks and label sets.
func (b *buffer) clear() {
	clear(b.stacks)
	clear(b.labels)
	clear(b.records)
}

// truthful reports whether a snapshot shows the label set of the goroutine that takes it, with that goroutine's stack. It
// is found out before the first snapshot is used.
var truthful = sync.OnceValue(func() bool {
	before := Current()
	defer before.Restore()
	probe := NewSet([]Label{{"task", "snapshot"}})
	probe.Set()
	if Current() != probe.Address() {
		return false
	}
	return probe.shownOnce()
})

// shownOnce reports whether exactly one goroutine of a snapshot has the set, and is in this function.
//
//go:noinline
func (s *Set) shownOnce() bool {
	found, here := 0, false
	b := new(buffer)
	for _, r := range b.read() {
		if r.Set != s.Address() {
			continue
		}
		found++
		for _, pc := range r.Stack {
			f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
			here = here || strings.HasSuffix(f.Function, ".(*Set).shownOnce")
		}
	}
	return found == 1 && here
}
