package meanwhile

import "github.com/meanwhile-go/meanwhile/internal/scope"

// notePanic records an error that the loop will not receive, if it contains a panic: of the function for an item, or of a
// task below the item. Other errors are dropped.
func (f *flow[In, Out]) notePanic(err error) {
	if hasNewPanic(&f.scope, err) {
		f.lost = append(f.lost, err)
	}
}

// hasNewPanic reports whether err contains a panic that is not known above the stream n yet. A panic is known if it is in
// the cause of the stream's cancellation, or in the failure of another task that an item has waited for.
func hasNewPanic(n *scope.Node, err error) (found bool) {
	c := n.CanceledBy()
	scope.WalkErrors(err, func(e error, _ bool) bool {
		switch e := e.(type) {
		case *PanicError:
			found = found || c == nil || !scope.Claims(c.Cause, e)
			return true
		case *TaskError:
			return found || n.Parent.HasFailure(e)
		}
		return found
	})
	return found
}

// loseResults records the panics among the results that the loop has not taken. It is called when no worker runs any more.
func (f *flow[In, Out]) loseResults() {
	end := f.head.Load()
	if f.o.unordered {
		end = f.results.Load()
	}
	for place := f.tail.Load(); place < end; place++ {
		if s := f.ring.at(place); s.state.Load() == ready(place) {
			f.notePanic(s.err)
		}
	}
}

// reportLost reports the panics that the loop did not receive as failures of the scope that the stream is in. It is deferred
// around close.
func (f *flow[In, Out]) reportLost() { reportLost(&f.scope, f.lost) }

func reportLost(n *scope.Node, lost []error) {
	for _, err := range lost {
		n.Parent.FailLater(n.Wrap(err))
	}
}
