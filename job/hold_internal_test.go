package job

import (
	"sync"
	"testing"
	"time"
)

// TestNotLostIsOfTheSession: while jobs claimed by several sessions are added and the sessions given up, an execution that is not lost always
// belongs to the worker's session. Otherwise another session would be asked about it in vain, and an execution of a renewed session that is marked
// as lost would run forever.
func TestNotLostIsOfTheSession(t *testing.T) {
	r := &run{inFlight: map[ID]*execution{}}
	r.hold.session = NewSession()
	check := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range r.inFlight {
			e.mu.Lock()
			if lost, old := e.lost, e.session != r.hold.session; lost != old {
				t.Errorf("lost: %t, session given up: %t; want the same", lost, old)
			}
			e.mu.Unlock()
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				session := r.session()
				r.began(session, time.Now())
				for range 5 {
					r.keep(&execution{run: r, session: session, job: &Job{ID: NewID()}})
				}
				check()
			}
		})
	}
	all.Go(func() {
		for range 100 {
			r.giveUpSession(time.Now().Add(time.Hour))
			check()
		}
	})
	all.Wait()
}

func TestClaimedAgain(t *testing.T) {
	r := &run{inFlight: map[ID]*execution{}}
	r.hold.session = NewSession()
	id := NewID()
	before := &execution{run: r, session: r.hold.session, job: &Job{ID: id}, ended: true}
	again := &execution{run: r, session: r.hold.session, job: &Job{ID: id}}
	r.keep(before)
	r.keep(again)
	if !before.lost || again.lost || r.inFlight[id] != again {
		t.Errorf("before: lost %t, again: lost %t", before.lost, again.lost)
	}
}

// TestGivenUpAfterComplete: only the attempts that have not completed their jobs by themselves are canceled with the session.
func TestGivenUpAfterComplete(t *testing.T) {
	r := &run{inFlight: map[ID]*execution{}}
	r.hold.session = NewSession()
	r.began(r.hold.session, time.Now())
	canceled := map[bool]error{}
	for _, completed := range []bool{false, true} {
		r.keep(&execution{
			run: r, session: r.hold.session, job: &Job{ID: NewID()}, completed: completed,
			abort: func(cause error) { canceled[completed] = cause },
		})
	}
	r.giveUpSession(time.Now().Add(time.Hour))
	if canceled[false] != ErrLeaseLost || canceled[true] != nil {
		t.Errorf("canceled with %v, after Complete with %v; want %v and nil", canceled[false], canceled[true], ErrLeaseLost)
	}
}
