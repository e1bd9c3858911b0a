package inspect

import (
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// stacks describes what the goroutines of tasks did at one moment.
type stacks struct {
	waits   map[waiterKey]bool // kinds of waits of goroutines that a task started with a go statement
	dialing bool               // a goroutine establishes a connection of net/http
}

// takeStacks reads the stacks of the given runners. The caller holds the mutex of places.
//
// A goroutine has a task's label set if it runs the task, but also if it was started from there with a plain go statement. It counts as the
// task's goroutine if its stack shows that this module called the task's function. If that part of a deep stack is cut off, the goroutine counts
// for no task.
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

// add adds the trace of a goroutine that has the label set of the given runner. Several scopes that run in one goroutine are nested.
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

// A waiterKey is a label set and a kind of wait inside this module.
type waiterKey struct {
	set goroutine.Address
	scope.WaiterKind
}

// waiterFor returns the kind of waiter that tasks use to wait for a reason.
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
