package faktory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// An insertStore needs a second to insert jobs, and refuses jobs of one kind together with all jobs of the same call.
type insertStore struct {
	job.Store
	mu    sync.Mutex
	sizes []int // of calls
}

const refusedKind = "refused"

func (s *insertStore) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(jobs))
	s.mu.Unlock()
	time.Sleep(time.Second)
	if slices.ContainsFunc(jobs, func(j *job.Job) bool { return j.Kind == refusedKind }) {
		return nil, errors.New("one of them is refused")
	}
	return s.Store.Insert(ctx, jobs...)
}

// pushAtOnce pushes three jobs one after the other on as many connections as there are kinds, and returns the answers to the last ones.
func pushAtOnce(b *bubble, kinds []string) []string {
	n := b.serve(faktory.Config{})
	peers, answers := make([]*peer, len(kinds)), make([]string, len(kinds))
	for i := range peers {
		peers[i] = n.open()
		peers[i].want(`HELLO {"v":2}`, "+OK")
	}
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Go(func() {
			for k := range 3 {
				answers[i] = p.ask(fmt.Sprintf(`PUSH {"jid":"job-%06d-%d","jobtype":"%s","args":[]}`, i, k, kinds[i]))
			}
		})
	}
	wg.Wait()
	return answers
}

// TestPushesShareACall: 16 connections push at the same time. The first call of the store has one job, and the next ones have the jobs of all
// connections.
func TestPushesShareACall(t *testing.T) {
	inBubble(t, func(b *bubble) {
		store := &insertStore{Store: b.store}
		b.store = store
		for i, got := range pushAtOnce(b, slices.Repeat([]string{"a"}, 16)) {
			if got != "+OK" {
				t.Errorf("connection %d: %s", i, got)
			}
		}
		if want := []int{1, 16, 16, 15}; !slices.Equal(store.sizes, want) {
			t.Errorf("the calls of the store had %v jobs, want %v", store.sizes, want)
		}
	})
}

// TestPushThatFailsAlone: one of several connections pushes a job that the store refuses.
func TestPushThatFailsAlone(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.store = &insertStore{Store: b.store}
		kinds := []string{"a", "a", refusedKind, "a"}
		for i, got := range pushAtOnce(b, kinds) {
			want := "+OK"
			if kinds[i] == refusedKind {
				want = "-ERR the store failed"
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("connection %d: got %s, want %s", i, got, want)
			}
			for k := range 3 {
				jobs := (&rig{TB: t, store: b.store}).byJID(fmt.Sprintf("job-%06d-%d", i, k))
				if (len(jobs) == 1) != (want == "+OK") {
					t.Errorf("connection %d: %d jobs, and the answer %s", i, len(jobs), got)
				}
			}
		}
	})
}

// A silentStore does not report jobs, as a distant store does only later.
type silentStore struct{ job.Store }

func (silentStore) Wait(ctx context.Context, _ ...string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPushWakesFetches: fetches that wait at the server to which jobs are pushed do not have to wait for the store to report them.
func TestPushWakesFetches(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.store = silentStore{b.store}
		n := b.serve(faktory.Config{})
		begun := time.Now()
		fetched := make(chan time.Duration)
		for _, queues := range []string{"default", "other default", "default", "other"} {
			p := n.worker("w " + queues)
			go func() {
				if p.fetch(queues) != nil {
					fetched <- time.Since(begun)
				} else {
					fetched <- -1
				}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		n.push("job-000001", "")
		p := n.open()
		p.want(`HELLO {"v":2}`, "+OK")
		p.want(`PUSHB [{"jid":"job-000002","jobtype":"a","args":[]},{"jid":"job-000003","jobtype":"a","args":[]},`+
			`{"jid":"job-000004","jobtype":"a","args":[],"queue":"other","at":"2999-01-01T00:00:00Z"}]`, "{}")
		for i := range 4 {
			if took := <-fetched; (i < 3) != (took == 100*time.Millisecond) {
				t.Errorf("fetch %d took %v", i, took)
			}
		}
	})
}
