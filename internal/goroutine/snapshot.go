package goroutine

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Set makes s the label set of the running goroutine. Set, Current and [Address.Restore] may be called only where [Exact] is true.
func (s *Set) Set() { setLabels(unsafe.Pointer(s)) }

// Current returns the address of the running goroutine's label set.
func Current() Address { return Address{getLabels()} }

// Restore sets the label set of the running goroutine to the one that it had when [Current] returned a.
func (a Address) Restore() { setLabels(a.set) }

// A Record is what one goroutine did at the moment of a snapshot.
type Record struct {
	Set   Address
	Stack []uintptr // return addresses, the innermost first, as runtime.Callers has them
}

// MaxDepth is the maximum number of calls in a stack of a snapshot, unless GODEBUG sets profstackdepth.
const MaxDepth = 128

// Snapshot calls f with a record of each goroutine of the process, all of one moment. It returns false if the addresses of label sets are unknown on
// this version of Go. The records are valid until f returns. The world is stopped twice for some microseconds, but not while the goroutines are
// recorded: each is recorded before it runs again.
func Snapshot(f func([]Record)) bool {
	if !Exact || tested.Load() == untruthful {
		return false
	}
	b, _ := buffers.Get().(*buffer)
	if b == nil {
		b = new(buffer)
	}
	records, ok := b.readTested()
	if ok {
		f(records)
	}
	b.clear()
	buffers.Put(b)
	return ok
}

// buffers has the buffers of the last snapshot, for the next one.
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

// clear drops the stacks and label sets.
func (b *buffer) clear() {
	clear(b.stacks)
	clear(b.labels)
	clear(b.records)
}

// tested is the result of checking the first snapshot: whether the goroutine that took it has the expected label set and stack in it.
var tested atomic.Int32

const (
	untested int32 = iota
	truthful
	untruthful
)

// readTested returns false if snapshots cannot be trusted.
func (b *buffer) readTested() (records []Record, ok bool) {
	if tested.Load() == truthful {
		return b.read(), true
	}
	before := Current()
	probe := NewSet([]Label{{"task", "snapshot"}})
	probe.Set()
	if Current() == probe.Address() {
		records, ok = b.readAs(probe, before)
	}
	before.Restore()
	if ok {
		tested.Store(truthful)
	} else {
		tested.Store(untruthful)
	}
	return records, ok
}

// readAs reports whether exactly one goroutine has the set, and is in this function. In the returned records its set is before.
//
//go:noinline
func (b *buffer) readAs(set *Set, before Address) ([]Record, bool) {
	found, here := 0, false
	records := b.read()
	for i := range records {
		r := &records[i]
		if r.Set != set.Address() {
			continue
		}
		r.Set = before
		found++
		for _, pc := range r.Stack {
			f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
			here = here || strings.HasSuffix(f.Function, ".(*buffer).readAs")
		}
	}
	return records, found == 1 && here
}
