package faktory_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// An insertClaimStore inserts and claims in one call, and its Wait does not report jobs.
type insertClaimStore struct {
	silentStore
	takes    time.Duration
	err      error
	answers  error        // after the transaction has been committed
	together atomic.Int32 // calls of InsertAndClaim
	inserts  atomic.Int32
}

func (s *insertClaimStore) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	s.inserts.Add(1)
	return s.Store.Insert(ctx, jobs...)
}

func (s *insertClaimStore) InsertAndClaim(ctx context.Context, jobs []*job.Job, c job.Claim) ([]job.ID, job.Claimed, error) {
	s.together.Add(1)
	time.Sleep(s.takes)
	if s.err != nil {
		return nil, job.Claimed{}, s.err
	}
	ids, err := s.Store.Insert(ctx, jobs...)
	if err != nil {
		return nil, job.Claimed{}, err
	}
	claimed, err := s.Store.Claim(ctx, c)
	if s.answers != nil {
		return nil, job.Claimed{}, s.answers
	}
	return ids, claimed, err
}

// waitingFetches makes n connections of one client wait in FETCH, and returns another connection that may push.
func waitingFetches(b *bubble, s *insertClaimStore, n int) (producer *peer, fetched chan string) {
	s.silentStore = silentStore{b.store}
	b.store = s
	node := b.serve(faktory.Config{})
	fetched = make(chan string, n)
	for range n {
		p := node.worker("w")
		go func() { fetched <- p.ask("FETCH default") }()
	}
	producer = node.open()
	producer.want(`HELLO {"v":2}`, "+OK")
	time.Sleep(100 * time.Millisecond)
	return producer, fetched
}

// TestPushedJobsAreAssignedToWaitingFetches: connections that wait in FETCH get pushed jobs in the transaction that inserts them.
func TestPushedJobsAreAssignedToWaitingFetches(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := &insertClaimStore{}
		p, fetched := waitingFetches(b, s, 3)
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
		if got := <-fetched; !strings.Contains(got, "job-000001") {
			t.Fatalf("fetched %s", got)
		}
		p.want(`PUSHB [{"jid":"job-000002","jobtype":"a","args":[]},{"jid":"job-000003","jobtype":"a","args":[]},{"jid":"job-000004","jobtype":"a","args":[]}]`, "{}")
		for range 2 {
			if got := <-fetched; !strings.Contains(got, "jid") {
				t.Errorf("fetched %s", got)
			}
		}
		p.want(`PUSH {"jid":"job-000005","jobtype":"a","args":[]}`, "+OK") // no connection waits
		if together, inserts := s.together.Load(), s.inserts.Load(); together != 2 || inserts != 1 {
			t.Errorf("%d calls inserted and claimed, and %d inserted, want 2 and 1", together, inserts)
		}
		if j := b.one("job-000001"); j.State != job.Running || j.Worker != "faktory/w" {
			t.Errorf("the job is %s at %s", j.State, j.Worker)
		}
	})
}

// TestNotAssigned: a waiting fetch gets no job from a push of a job that is not due, of one for another queue, or of a duplicate. It gets the next
// job.
func TestNotAssigned(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := &insertClaimStore{}
		p, fetched := waitingFetches(b, s, 1)
		const unique = `,"custom":{"unique_for":60}`
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[],"at":"2999-01-01T00:00:00Z"`+unique+`}`, "+OK")
		p.want(`PUSH {"jid":"job-000002","jobtype":"a","args":[],"queue":"other"}`, "+OK")
		if n := s.together.Load(); n != 0 {
			t.Errorf("%d calls claimed for a fetch that none of the jobs is for", n)
		}
		p.want(`PUSH {"jid":"job-000003","jobtype":"a","args":[]`+unique+`}`, "-NOTUNIQUE Job not unique")
		p.want(`PUSH {"jid":"job-000004","jobtype":"a","args":[]}`, "+OK")
		if got := <-fetched; !strings.Contains(got, "job-000004") {
			t.Errorf("fetched %s", got)
		}
	})
}

// TestAssignedSlowly: a fetch whose time is over before the claim for it has ended still gets the job.
func TestAssignedSlowly(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := &insertClaimStore{takes: 3 * time.Second}
		p, fetched := waitingFetches(b, s, 1)
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
		if got := <-fetched; !strings.Contains(got, "job-000001") {
			t.Errorf("fetched %s", got)
		}
	})
}

// TestNothingAssigned: if the store accepts no job, the pushing client gets an error, and the waiting fetch continues to wait.
func TestNothingAssigned(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := &insertClaimStore{err: errors.New("broken")}
		p, fetched := waitingFetches(b, s, 1)
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "-ERR the store failed")
		s.err = nil
		p.want(`PUSH {"jid":"job-000002","jobtype":"a","args":[]}`, "+OK")
		if got := <-fetched; !strings.Contains(got, "job-000002") {
			t.Errorf("fetched %s", got)
		}
	})
}

// TestAssignedInVain: if the answer of the store is lost after it has inserted a job and claimed it for a waiting fetch, the job is soon released, and not
// held as long as a reservation.
func TestAssignedInVain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := &insertClaimStore{answers: errors.New("the connection broke")}
		p, fetched := waitingFetches(b, s, 1)
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "-ERR the store failed")
		if j := b.one("job-000001"); j.State != job.Running {
			t.Fatalf("it is %s", j.State)
		}
		got := <-fetched
		if got == "nil" { // it was not released in time for this one
			time.Sleep(5 * time.Second)
			got = p.ask("FETCH default")
		}
		if !strings.Contains(got, "job-000001") {
			t.Errorf("fetched %s", got)
		}
		if j := b.one("job-000001"); j.Used() != 1 {
			t.Errorf("%d attempts are used, want 1", j.Used())
		}
	})
}
