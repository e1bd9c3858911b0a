package faktory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestHandedLate: a fetch whose time is over, and that a job is claimed for before it has left its line, gets the job. Nobody else would run it before its
// lease is over.
func TestHandedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(nil, nil)
		l := r.enter([]string{"q"})
		defer r.exit(l)
		l.state = dry
		over := make(chan time.Time)
		var w *waiter
		var turn bool
		left := make(chan struct{})
		go func() {
			defer close(left)
			w, turn = r.await(t.Context(), l, new(client), job.Fetch{}, over)
		}()
		synctest.Wait()

		r.mu.Lock()
		over <- time.Now() // its time is over, and it cannot leave yet
		taken := l.dequeue(1)
		r.mu.Unlock()
		want := &job.Job{Kind: "k"}
		hand(taken, []*job.Job{want}, nil)
		<-left
		if w == nil || turn {
			t.Fatalf("it left with %v, %t, want to be handed what was claimed for it", w, turn)
		}
		if got := <-w.handed; got.job != want {
			t.Errorf("it was handed %v", got.job)
		}
		if l.state != dry {
			t.Error("it has others ask the store, though the turn was not its own")
		}
	})
}
