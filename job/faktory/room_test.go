package faktory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestHandedLate: a fetch whose time is over, but for which a job is claimed before it has left its line, gets the job. Nobody else would run the
// job before its lease is over.
func TestHandedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(nil, nil, nil)
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
		over <- time.Now() // its time is over, but it cannot leave yet
		taken := l.dequeue(1)
		r.mu.Unlock()
		want := &job.Job{Kind: "k"}
		hand(taken, []*job.Job{want}, nil)
		<-left
		if w == nil || turn {
			t.Fatalf("the fetch left with %v, %t, want the job that was claimed for it", w, turn)
		}
		if got := <-w.handed; got.job != want {
			t.Errorf("the fetch got %v", got.job)
		}
		if l.state != dry {
			t.Error("the fetch made others ask the store, although it had no turn to pass on")
		}
	})
}
