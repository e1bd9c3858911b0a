package inspect

import (
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// stacks are what the goroutines of tasks did at one moment.
type stacks struct {
	waits   map[waiterKey]bool // what goroutines do that a task started by a go statement
	dialing bool               // some goroutine makes a connection of net/http
}

// takeStacks reads the stacks of the given runners. The caller holds the mutex of places.
//
// A goroutine has a task's label set when it runs the task, and also when it was started from there by a plain go
// statement. It is the task's where its stack shows that this package called the task's function; where that part of a
// deep stack is cut off, it is no task's.
func takeStacks(r *runners) stacks {
	s := stacks{waits: make(map[waiterKey]bool)}
	known := make(traces)
	goroutine.Snapshot(func(records []goroutine.Record) {
		for _, record := range records {
			t := known.of(record.Stack)
			s.dialing = s.dialing || t.dials
			if one := r.bySet[record.Set]; one != nil {
				s.add(r, one, t)
			}
		}
	})
	return s
}

// add takes the trace of a goroutine with the label set of the given runner: the scopes that run in it are inside each other.
func (s *stacks) add(r *runners, one *runner, t *trace) {
	inner := goroutine.Address{}
	for i := range t.stacks {
		part := &t.stacks[i]
		if one.kind != part.begins {
			break
		}
		switch {
		case one.twice:
		case one.stack != nil:
			one.stack, one.twice = nil, true
		default:
			one.stack, one.inner = part, inner
		}
		if one.kind != beginsScope {
			return
		}
		inner = one.labels.Address()
		if one = r.bySet[one.outer]; one == nil {
			return
		}
	}
	one.others = true
	if t.waiter != scope.NoWaiter {
		s.waits[waiterKey{one.labels.Address(), t.waiter}] = true
	}
}

// A waiterKey is a kind of wait inside this package, of goroutines with one label set.
type waiterKey struct {
	set goroutine.Address
	scope.WaiterKind
}

// waiterFor is the type of the waiter with which a task waits for a reason.
func waiterFor(reason string) scope.WaiterKind {
	switch reason {
	case "sleep", "rate", "retry":
		return scope.ForTime
	case "task":
		return scope.ForEnd
	case "semaphore", "blocking", "limit":
		return scope.ForSemaphore
	}
	return scope.NoWaiter
}
