package meanwhile

import (
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// notePanic notes an error that the loop will not be given, if it carries a panic: that of the function for an item, or of a task
// below the item. Other errors are dropped.
func (f *flow[In, Out]) notePanic(err error) {
	if err != nil && f.hasPanic(err) {
		f.lost = append(f.lost, err)
	}
}

// hasPanic reports whether err carries a panic that is not known above the stream already: in the cause of its cancellation, or
// as the failure of another task that an item has waited for.
func (f *flow[In, Out]) hasPanic(err error) (found bool) {
	c, items := f.scope.CanceledBy(), f.scope.Path()+"/"
	scope.WalkErrors(err, func(e error, _ bool) bool {
		switch e := e.(type) {
		case *PanicError:
			found = found || c == nil || !scope.Claims(c.Cause, e)
			return true
		case *TaskError:
			return !strings.HasPrefix(e.Path, items)
		}
		return found
	})
	return found
}

// loseResults loses the results that the loop has not taken, when no worker runs any more.
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

// reportLost makes the panics that the loop was not given failures of the scope that the stream is in. It is deferred around
// close.
func (f *flow[In, Out]) reportLost() {
	for _, err := range f.lost {
		f.scope.Parent.FailLater(f.scope.Wrap(err))
	}
}
