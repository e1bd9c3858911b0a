package meanwhile

import (
	"runtime"
	"sync"
)

// A look is what all goroutines of the process are doing at one moment. It stops the world twice for some microseconds,
// not while it goes from one goroutine to the next: each of them is recorded before it runs again.
type look struct {
	stacks map[uint32]*stack // by the number of the task; nil for a number that two goroutines have
	cut    bool              // some stacks were too deep to be seen as far as to their task
	spare  []stack           // to be used
}

func (l *look) newStack() *stack {
	if len(l.spare) == 0 {
		l.spare = make([]stack, 64)
	}
	s := &l.spare[0]
	l.spare = l.spare[1:]
	return s
}

// A stack is the part of a goroutine's that belongs to one task: from where it is, or from where the scope inside begins,
// to where the task begins. The innermost call is the first.
type stack struct {
	calls []*place
	inner uint32 // the number of the scope inside
	outer bool   // there is one
	wait  uint32 // the number of the parker in which the task waits
	parks bool   // there is one
}

// maxDepth is how many calls runtime.GoroutineProfile tells of.
const maxDepth = len(runtime.StackRecord{}.Stack0)

// takeLook looks at all goroutines. The caller holds the mutex of places.
func takeLook() *look {
	records := goroutines()
	defer recordPool.Put(&records)
	l := &look{stacks: make(map[uint32]*stack, len(records)), spare: make([]stack, len(records)+64)}
	total := 0
	for i := range records {
		total += len(records[i].Stack())
	}
	all := make([]*place, 0, total) // one for all of them: they are let go of together
	for i := range records {
		pcs := records[i].Stack()
		begin := len(all)
		for _, pc := range pcs {
			all = append(all, at(pc))
		}
		l.add(all[begin:len(all):len(all)])
		l.cut = l.cut || len(pcs) == maxDepth
	}
	return l
}

// recordPool keeps the records of the last look, 256 bytes for each goroutine, for the next one.
var recordPool sync.Pool // of *[]runtime.StackRecord

func goroutines() []runtime.StackRecord {
	var records []runtime.StackRecord
	if old, ok := recordPool.Get().(*[]runtime.StackRecord); ok {
		records = (*old)[:cap(*old)]
	}
	size := runtime.NumGoroutine() + 16
	for {
		if len(records) < size {
			records = make([]runtime.StackRecord, size)
		}
		n, ok := runtime.GoroutineProfile(records)
		if ok {
			return records[:n]
		}
		size = n + n/8 + 16
	}
}

// add takes a goroutine's stack apart.
func (l *look) add(calls []*place) {
	begin := 0
	s := l.newStack()
	for i := 0; i < len(calls); i++ {
		if !calls[i].last {
			continue
		}
		number, digits := readNumber(calls[i:])
		switch {
		case digits == waitDigits && begin == 0:
			s.wait, s.parks = number, true
		case digits == markDigits:
			s.calls = calls[begin:i:i]
			if _, twice := l.stacks[number]; twice {
				s = nil
			}
			l.stacks[number] = s
			s = l.newStack()
			s.inner, s.outer = number, true
			begin = i + digits
		}
		i += digits - 1
	}
}

// readNumber reads what a climber wrote: the highest digit is innermost.
func readNumber(calls []*place) (number uint32, digits int) {
	for _, p := range calls {
		if p.digit == noDigit || p.last && digits > 0 || digits == markDigits {
			break
		}
		number = number*markBase + uint32(p.digit)
		digits++
	}
	return number, digits
}
