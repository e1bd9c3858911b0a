package faktory_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// slowLists is a store that lists workers slowly, and does not list running jobs while hang is set.
type slowLists struct {
	job.Store
	worker string // the worker whose renewals are watched
	hang   atomic.Bool

	mu      sync.Mutex
	lists   int // of workers
	renewed time.Time
	pause   time.Duration // the longest between two renewals
}

func (s *slowLists) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	time.Sleep(time.Second)
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	return s.Store.Workers(ctx, names...)
}

func (s *slowLists) Leave(ctx context.Context, worker string, session job.Session) error {
	time.Sleep(time.Second)
	return s.Store.Leave(ctx, worker, session)
}

func (s *slowLists) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	if s.hang.Load() && slices.Contains(f.States, job.Running) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.List(ctx, f)
}

func (s *slowLists) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if r.Worker == s.worker {
		s.mu.Lock()
		if now := time.Now(); s.renewed.IsZero() {
			s.renewed = now
		} else {
			s.pause, s.renewed = max(s.pause, now.Sub(s.renewed)), now
		}
		s.mu.Unlock()
	}
	return s.Store.Renew(ctx, r)
}

func (s *slowLists) watched() (lists int, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.pause
}

// TestClientsThatLeaveHoldUpNoLease: a deployment disconnects many clients at once, and the store is slow. The leases of the remaining clients are
// renewed nevertheless.
func TestClientsThatLeaveHoldUpNoLease(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &slowLists{Store: b.store, worker: "faktory/stays"}
		b.store = store
		n := b.serve(faktory.Config{})
		n.push("job-000001", `,"reserve_for":3600`)
		stays := n.worker("stays")
		if stays.fetch("default") == nil {
			t.Fatal("no job")
		}
		for i := range 100 {
			p := n.worker(fmt.Sprint("leaves-", i))
			time.AfterFunc(5*time.Second, func() { _ = p.socket.Close() })
		}
		time.Sleep(6 * time.Minute)
		lists, pause := store.watched()
		if pause > 20*time.Second {
			t.Errorf("a lease was not renewed for %v, want 15s or a little more", pause)
		}
		if lists > 10 {
			t.Errorf("the workers were listed %d times to remove 100 of them, want at most 10", lists)
		}
		if workers, err := b.store.Workers(t.Context()); err != nil || len(workers) != 1 || workers[0].Name != "faktory/stays" {
			t.Errorf("%d workers are left, %v", len(workers), err)
		}
		if j := b.one("job-000001"); j.State != job.Running || j.Attempt != 1 {
			t.Errorf("got job %+v", j)
		}
	})
}

// TestListThatHangs: the jobs that other servers have given to clients are read from time to time. A store that does not answer holds up neither
// leases nor the next read.
func TestListThatHangs(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &slowLists{Store: b.store, worker: "faktory/w"}
		b.store = store
		first, second := b.serve(faktory.Config{}), b.serve(faktory.Config{})
		first.push("job-000001", `,"reserve_for":3600`)
		first.push("job-000002", `,"reserve_for":60`)
		p, q := second.worker("w"), first.worker("w")
		for range 2 {
			if q.fetch("default") == nil {
				t.Fatal("no job")
			}
		}
		first.stop()
		store.hang.Store(true)
		p.beatFor("w", 4*time.Minute)
		if _, pause := store.watched(); pause > 20*time.Second {
			t.Errorf("a lease was not renewed for %v", pause)
		}
		store.hang.Store(false)
		p.beatFor("w", 4*time.Minute)
		if got := second.worker("other").fetch("default"); got == nil || got.JID != "job-000002" {
			t.Errorf("fetched %+v, want the job whose reservation was over long ago", got)
		}
		p.want(`ACK {"jid":"job-000001"}`, "+OK")
		second.stop()
	})
}
