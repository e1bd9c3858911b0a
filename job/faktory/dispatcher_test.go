package faktory

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	memorystore "github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAssignedLate: a fetch whose time is over, but for which a job is claimed before it has left its group, gets the job. Nobody else would run the
// job before its lease is over.
func TestAssignedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher(nil, nil, nil)
		g := d.enter([]string{"q"})
		defer d.exit(g)
		g.backlog = backlogEmpty
		ctx, cancel := context.WithCancel(t.Context())
		var w *waiter
		var mayClaim bool
		left := make(chan struct{})
		go func() {
			defer close(left)
			w, mayClaim = d.await(ctx, g, new(client), job.Fetch{})
		}()
		synctest.Wait()

		d.mu.Lock()
		cancel() // its time is over, but it cannot leave yet
		taken := g.dequeue(1)
		d.mu.Unlock()
		want := &job.Job{Kind: "k"}
		assign(taken, []*job.Job{want}, nil)
		<-left
		if w == nil || mayClaim {
			t.Fatalf("the fetch left with %v, %t, want the job that was claimed for it", w, mayClaim)
		}
		if got := <-w.assigned; got.job != want {
			t.Errorf("the fetch got %v", got.job)
		}
		if g.backlog != backlogEmpty {
			t.Error("the fetch made others ask the store, although it was not the one to claim")
		}
	})
}

// TestAssignedNothingLate: a fetch whose time is over, but for which a claim had begun before it has left its group, returns when the claim gives it no job.
func TestAssignedNothingLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher(nil, nil, nil)
		g := d.enter([]string{"q"})
		defer d.exit(g)
		g.backlog = backlogEmpty
		for range 200 { // whether it leaves or is taken first
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begun, left := time.Now(), make(chan struct{})
			go func() {
				defer close(left)
				if j, err := d.fetch(ctx, ctx, new(client), job.Fetch{Queues: g.queues}, fetchTime); j != nil || err != nil {
					t.Errorf("the fetch got %v, %v", j, err)
				}
			}()
			time.Sleep(fetchTime)
			d.mu.Lock()
			if len(g.waiting) > 0 {
				assign(g.dequeue(1), nil, nil)
			}
			d.mu.Unlock()
			<-left
			cancel()
			if took := time.Since(begun); took != fetchTime {
				t.Fatalf("the fetch took %v, want %v", took, fetchTime)
			}
		}
	})
}

// BenchmarkNotification measures what a job of another program costs, from its insert until the fetches of its queue are notified, with programs that fetch from
// so many queues.
func BenchmarkNotification(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("queues=%d", n), func(b *testing.B) {
			store := memorystore.New()
			defer store.Close()
			d := newDispatcher(store, nil, nil)
			for i := range n {
				d.enter([]string{fmt.Sprint("q", i)})
			}
			for b.Loop() {
				j, err := job.New("a", []byte("[]"), job.Queue("q7"))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := job.Insert(b.Context(), store, j); err != nil {
					b.Fatal(err)
				}
				due, err := d.wait(b.Context())
				if err != nil || len(due) != 1 {
					b.Fatalf("waited for %v, %v", due, err)
				}
				d.notify(due)
			}
		})
	}
}
