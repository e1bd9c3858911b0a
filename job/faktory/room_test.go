package faktory

import (
	"context"
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
		ctx, cancel := context.WithCancel(t.Context())
		var w *waiter
		var turn bool
		left := make(chan struct{})
		go func() {
			defer close(left)
			w, turn = r.await(ctx, l, new(client), job.Fetch{})
		}()
		synctest.Wait()

		r.mu.Lock()
		cancel() // its time is over, but it cannot leave yet
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

// TestHandedNothingLate: a fetch whose time is over, but for which a claim had begun before it has left its line, returns when the claim gives it no job.
func TestHandedNothingLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(nil, nil, nil)
		l := r.enter([]string{"q"})
		defer r.exit(l)
		l.state = dry
		for range 200 { // whether it leaves or is taken first
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begun, left := time.Now(), make(chan struct{})
			go func() {
				defer close(left)
				if j, err := r.fetch(ctx, ctx, new(client), job.Fetch{Queues: l.queues}, fetchTime); j != nil || err != nil {
					t.Errorf("the fetch got %v, %v", j, err)
				}
			}()
			time.Sleep(fetchTime)
			r.mu.Lock()
			if len(l.waiting) > 0 {
				hand(l.dequeue(1), nil, nil)
			}
			r.mu.Unlock()
			<-left
			cancel()
			if took := time.Since(begun); took != fetchTime {
				t.Fatalf("the fetch took %v, want %v", took, fetchTime)
			}
		}
	})
}
