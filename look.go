package meanwhile

import "runtime"

// A look is what all goroutines of the process are doing at one moment. It stops the world twice for some microseconds,
// not while it goes from one goroutine to the next: each of them is recorded before it runs again.
type look struct {
	stacks map[uint32]*stack // by the number of the task; nil for a number that two goroutines have
	cut    bool              // some stacks were too deep to be seen as far as to their task
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
	l := &look{stacks: make(map[uint32]*stack, len(records))}
	for i := range records {
		pcs := records[i].Stack()
		calls := make([]*place, len(pcs))
		for j, pc := range pcs {
			calls[j] = at(pc)
		}
		l.add(calls)
		l.cut = l.cut || len(pcs) == maxDepth
	}
	return l
}

func goroutines() []runtime.StackRecord {
	size := runtime.NumGoroutine() + 16
	for {
		records := make([]runtime.StackRecord, size)
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
	s := new(stack)
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
			s = &stack{inner: number, outer: true}
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
