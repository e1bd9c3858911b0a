package job

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Claim claims due jobs from one store after the other until it has enough, and starts with another store each time. It skips a store that fails.
// If only the answer of that store was lost, a later claim of the session returns the jobs that it has claimed there.
func (j *Joined) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if err := j.enter(ctx, "claim jobs"); err != nil {
		return Claimed{}, err
	}
	session := j.sessions.claims(c, len(j.parts))
	left, asked := eachOnce(c.Queues), c
	start := int(j.turn.Add(1) % uint64(len(j.parts)))
	var claimed Claimed
	var answers []answer[Claimed]
	n := 0
	for k := range j.parts {
		p := j.parts[(start+k)%len(j.parts)]
		asked.Queues, asked.Limit = left, c.Limit-n
		a := j.claimFrom(ctx, p, session, asked)
		answers = append(answers, a)
		if a.err != nil {
			continue
		}
		j.located.note(a.got.Jobs, location{part: p, session: c.Session})
		for _, job := range a.got.Jobs {
			if i := slices.IndexFunc(left, func(q QueueLimit) bool { return q.Queue == job.Queue && q.Limit > 0 }); i >= 0 {
				left[i].Limit--
			}
		}
		for id, worker := range a.got.Expired {
			if claimed.Expired == nil {
				claimed.Expired = map[ID]string{}
			}
			claimed.Expired[id] = worker
		}
		if next := a.got.Next; next > 0 && (claimed.Next == 0 || next < claimed.Next) {
			claimed.Next = next
		}
		if n += len(a.got.Jobs); n >= c.Limit {
			claimed.Next = 0
			break
		}
	}
	if err := noneAnswered(ctx, answers); err != nil {
		return Claimed{}, err
	}
	var batches [][]*Job
	for _, a := range answers {
		if session != nil && session.ranOut(a.part, c.Lease) { // while other stores were asked
			for _, job := range a.got.Jobs {
				session.giveUp(a.part, job.ID)
			}
			continue
		}
		batches = append(batches, a.got.Jobs)
	}
	claimed.Jobs = merged(batches, c.Queues, claimed.Expired)
	return claimed, nil
}

// eachOnce returns queues with the limit of a queue kept only where it is named first. Otherwise, once the first limit is used up by the jobs of one
// store, the next store would be asked by the second one.
func eachOnce(queues []QueueLimit) []QueueLimit {
	queues = slices.Clone(queues)
	counted := make(map[string]bool, len(queues))
	for i, q := range queues {
		if counted[q.Queue] {
			queues[i].Limit = 0
		}
		counted[q.Queue] = counted[q.Queue] || q.Limit > 0
	}
	return queues
}

// claimFrom claims from one store. It does not ping a store that did not answer before: renewals and other calls do that.
func (j *Joined) claimFrom(ctx context.Context, p *part, s *joinedSession, c Claim) answer[Claimed] {
	a := answer[Claimed]{part: p}
	if a.err = p.ready(ctx, false); a.err != nil {
		return a
	}
	c.Queues = slices.Clone(c.Queues) // the caller changes it, while a call that timed out may still read it
	begun := time.Now()
	if !s.number(p, &c, begun) {
		return a
	}
	a = ask(ctx, j, p, partCall, func(ctx context.Context, p *part) (Claimed, error) { return p.Claim(ctx, c) })
	s.claimed(p, c, begun, a)
	return a
}

// merged puts the jobs of several stores into the order in which they should run. Jobs of one store keep their order.
func merged(batches [][]*Job, queues []QueueLimit, expired map[ID]string) []*Job {
	place := make(map[string]int, len(queues))
	for i, q := range queues {
		place[q.Queue] = i
	}
	first := func(j *Job) int {
		if _, is := expired[j.ID]; is {
			return 0
		}
		return 1
	}
	before := func(a, b *Job) bool {
		return cmp.Or(first(a)-first(b), place[a.Queue]-place[b.Queue], b.Priority-a.Priority, a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:])) < 0
	}
	return mergeBatches(batches, before)
}

// mergeBatches merges batches that are each in order.
func mergeBatches(batches [][]*Job, before func(a, b *Job) bool) []*Job {
	var all []*Job
	for {
		best := -1
		for i, of := range batches {
			if len(of) > 0 && (best < 0 || before(of[0], batches[best][0])) {
				best = i
			}
		}
		if best < 0 {
			return all
		}
		all, batches[best] = append(all, batches[best][0]), batches[best][1:]
	}
}

// joinedSessions are the sessions whose claims are numbered, and those that a store could not renew. For each it keeps what some of the stores do
// not know yet.
type joinedSessions struct {
	mu sync.Mutex
	of map[Session]*joinedSession
}

// A joinedSession is a session at each of the stores.
type joinedSession struct {
	mu    sync.Mutex
	used  time.Time
	at    []partSession // indexed as the stores
	stats []Stat        // not taken by any store yet
}

type partSession struct {
	unanswered int64       // the number of its first claim without an answer, or zero
	until      time.Time   // the lease holds at least until then; zero if it may not have started
	expired    bool        // the store has yet to be asked for jobs whose lease expired
	drop       map[ID]bool // jobs to give up when the store answers: they already count as lost here
	claiming   int         // claims that have not returned
}

// find returns a session, or nil; with create, it creates a missing one.
func (s *joinedSessions) find(session Session, parts int, create bool) *joinedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[session]
	if of == nil && create {
		if len(s.of) >= mostSessions {
			s.trim()
		}
		if s.of == nil {
			s.of = map[Session]*joinedSession{}
		}
		of = &joinedSession{at: make([]partSession, parts)}
		s.of[session] = of
	}
	if of != nil {
		of.mu.Lock()
		of.used = time.Now()
		of.mu.Unlock()
	}
	return of
}

// trim forgets sessions that the stores have forgotten, too. If that frees too little, it forgets an eighth of all: the ones that were idle longest,
// but none with anything that a store does not know yet, since its jobs would be run twice. s.mu is held.
func (s *joinedSessions) trim() {
	type idle struct {
		session Session
		used    time.Time
	}
	var others []idle
	for session, of := range s.of {
		used, settled := of.state()
		if time.Since(used) > SessionKept {
			delete(s.of, session)
		} else if settled {
			others = append(others, idle{session, used})
		}
	}
	slices.SortFunc(others, func(a, b idle) int { return a.used.Compare(b.used) })
	for _, other := range others {
		if len(s.of) < mostSessions*7/8 {
			return
		}
		delete(s.of, other.session)
	}
}

// state returns when a session was last used, and whether there is nothing left that a store does not know yet.
func (s *joinedSession) state() (used time.Time, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, len(s.stats) == 0 && !slices.ContainsFunc(s.at, func(at partSession) bool {
		return at.unanswered != 0 || len(at.drop) > 0 || at.claiming > 0
	})
}

func (s *joinedSessions) forget(session Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, session)
}

// claims returns the session of a numbered claim, and records for all stores which earlier claims had no answer. It returns nil if the claim has no
// number.
func (s *joinedSessions) claims(c Claim, parts int) *joinedSession {
	if c.Call == 0 {
		return nil
	}
	of := s.find(c.Session, parts, true)
	of.mu.Lock()
	defer of.mu.Unlock()
	for i := range of.at {
		at := &of.at[i]
		at.expired = at.expired || c.Expired
		switch {
		case c.Since == c.Call:
			at.until = time.Time{}
		case c.Since > 0 && (at.unanswered == 0 || c.Since < at.unanswered):
			at.unanswered = c.Since
		}
	}
	return of
}

// number sets in c the first claim that this store did not answer. If the session's lease may not have started at the store, or may be over, the
// claim starts it again. number returns false if the store must not be claimed from yet: jobs have to be given up first, or it could return them to
// the session again.
func (s *joinedSession) number(p *part, c *Claim, now time.Time) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at[p.index]
	c.Expired, c.Since = at.expired, at.unanswered
	if c.Since == 0 && at.over(now, c.Lease) {
		c.Since = c.Call
	}
	if len(at.drop) > 0 {
		return false
	}
	at.claiming++
	return true
}

// claimed notes the result of a claim.
func (s *joinedSession) claimed(p *part, c Claim, begun time.Time, a answer[Claimed]) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at[p.index]
	at.claiming--
	switch {
	case a.err != nil && at.unanswered == 0:
		at.unanswered = c.Call
	case a.err == nil:
		at.unanswered, at.expired = 0, false
		if c.Since != 0 {
			at.until = begun.Add(c.Lease)
		}
		for _, j := range a.got.Jobs {
			delete(at.drop, j.ID)
		}
	}
}

// over reports whether the lease at a store may be over within a tenth of its length. Attempts need that time to end.
func (at *partSession) over(now time.Time, lease time.Duration) bool {
	return at.until.Sub(now) <= lease/10
}
