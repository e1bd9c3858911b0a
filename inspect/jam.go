package inspect

import (
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A jam is a semaphore with tasks that wait for it, as it was at one moment. Its waiters from first on can only be served after they have
// continued themselves: they wait for each other.
type jam struct {
	takers []taker
	queue  []*scope.SemWaiter       // oldest first; the weights of the waiters do not change
	places map[*scope.SemWaiter]int // their indexes in queue
	size   int
	first  int // the index in queue of the first waiter that cannot be served
}

// A taker is a task that has acquired a weight of a semaphore. Its n is nil if the snapshot does not contain the task.
type taker struct {
	n      *scope.Node
	weight int
}

// semaphores has the semaphores that tasks of a snapshot wait for.
type semaphores struct {
	texts   map[*scope.Sem]string
	waiting map[*scope.Node]*scope.SemWaiter // by the task whose goroutine waits
	jams    map[*scope.Sem]*jam
	verdicts
}

// semaphore records that n waits for a semaphore, and describes the semaphore: with the same text for all its waiters.
func (s *snapshot) semaphore(n *scope.Node, a *scope.SemWaiter) string {
	if s.texts == nil {
		s.texts, s.waiting = make(map[*scope.Sem]string), make(map[*scope.Node]*scope.SemWaiter)
	}
	text, known := s.texts[a.S]
	if !known {
		text = s.runners.describe(a.S)
		s.texts[a.S] = text
	}
	if n != nil {
		s.waiting[n] = a
	}
	return text
}

const maxRounds = 100 // of the search for tasks that wait for each other; if it needs more, nothing is reported

// findJams finds the semaphores whose waiters can only be served after they have continued themselves. It assumes that a task releases what it
// acquired, unless a goroutine has ever released what another one acquired, or the task has a goroutine below it that does anything other than
// wait in the jam. A task that waits for what it acquired itself may have passed it to another task, so such a semaphore counts only if tasks
// were seen to release what they acquired.
//
// It starts with all waiters, and repeatedly removes those that can be served, or that wait for a task which can end, until there are none left
// to remove. The remaining waiters wait for each other.
func (s *snapshot) findJams() {
	s.jams = make(map[*scope.Sem]*jam)
	for sem := range s.texts {
		if j := s.newJam(sem); j != nil {
			s.jams[sem] = j
		}
	}
	for range maxRounds {
		if len(s.jams) == 0 {
			return
		}
		if !s.unjam() {
			s.confirm()
			return
		}
	}
	clear(s.jams)
}

// newJam returns nil if something about the semaphore is unknown, or if no task that has acquired it may be stuck.
func (s *snapshot) newJam(of *scope.Sem) *jam {
	now := of.State()
	h := now.Holders
	if h.Unknown || h.ReleasedByOther || !now.Tracked {
		return nil
	}
	j := &jam{size: now.Size, places: make(map[*scope.SemWaiter]int)}
	for _, one := range h.List {
		t := taker{weight: one.Weight}
		if r := s.bySet[one.Set]; r != nil {
			t.n = r.n
		}
		j.takers = append(j.takers, t)
	}
	if !slices.ContainsFunc(j.takers, s.mayBeStuck) {
		return nil
	}
	for _, a := range now.Queue {
		r := s.bySet[a.Set]
		if !h.Released && r != nil && slices.ContainsFunc(j.takers, func(t taker) bool { return related(t.n, r.n) }) {
			return nil
		}
		j.places[a] = len(j.queue)
		j.queue = append(j.queue, a)
	}
	return j
}

// related reports whether one of two tasks is above the other, or both are the same.
func related(a, b *scope.Node) bool { return a != nil && b != nil && (a.IsAbove(b) || b.IsAbove(a)) }

// mayBeStuck reports whether a task that has acquired something waits in a way that may be part of a jam.
func (s *snapshot) mayBeStuck(t taker) bool {
	return t.n != nil && (s.waiting[t.n] != nil || s.edges[t.n] != nil || s.inside(t.n) != nil || t.n.IsJoining())
}

// inside returns the scope that n's goroutine is in, or nil.
func (s *snapshot) inside(n *scope.Node) *scope.Node {
	r := s.bySet[n.Labels.Address()]
	if r == nil || r.stack == nil {
		return nil
	}
	if inner := s.bySet[r.inner]; inner != nil {
		return inner.n
	}
	return nil
}

// unjam removes from the jams the waiters that can be served, and reports whether there were any.
func (s *snapshot) unjam() (changed bool) {
	s.verdicts = verdicts{ends: make(map[*scope.Node]bool), frozen: make(map[*scope.Node]bool)}
	first := make(map[*scope.Sem]int)
	for sem, j := range s.jams {
		free := j.size
		for _, t := range j.takers {
			if t.n != nil && s.isFrozen(t.n) {
				free -= t.weight
			}
		}
		first[sem] = slices.IndexFunc(j.queue, func(a *scope.SemWaiter) bool { return a.Weight > free })
	}
	for sem, at := range first {
		j := s.jams[sem]
		changed = changed || at != j.first
		if j.first = at; at < 0 {
			delete(s.jams, sem)
		}
	}
	return changed
}

// jammed reports whether n waits for a semaphore that will never serve it.
func (s *snapshot) jammed(n *scope.Node) bool {
	a := s.waiting[n]
	if a == nil {
		return false
	}
	j := s.jams[a.S]
	if j == nil {
		return false
	}
	place, known := j.places[a]
	return known && place >= j.first
}

// verdicts is what one round has found out about tasks.
type verdicts struct {
	ends, frozen map[*scope.Node]bool
	endWaiters   []*scope.EndWaiter // of tasks that wait for the end of others
}

// cannotEnd reports whether n waits for ever, or has to wait for a task below it that does.
func (s *snapshot) cannotEnd(n *scope.Node) bool {
	known, ok := s.ends[n]
	if ok {
		return known
	}
	s.ends[n] = true // a task that waits for itself waits for ever
	stuck := s.isStuck(n) || slices.ContainsFunc(n.Tasks(nil), func(k *scope.Node) bool { return !k.Is(scope.IsBackground) && s.cannotEnd(k) })
	s.ends[n] = stuck
	return stuck
}

// isStuck reports whether n's own function waits for ever.
func (s *snapshot) isStuck(n *scope.Node) bool {
	if s.jammed(n) {
		return true
	}
	if j := s.edges[n]; j != nil {
		s.endWaiters = append(s.endWaiters, j)
		return s.cannotEnd(j.Target())
	}
	inner := s.inside(n)
	return inner != nil && !inner.Is(scope.IsFinished) && s.cannotEnd(inner)
}

// isFrozen reports whether n's goroutine, and all goroutines that n has started, wait for ever. Then none of them will release anything.
func (s *snapshot) isFrozen(n *scope.Node) bool {
	known, ok := s.frozen[n]
	if ok {
		return known
	}
	below := n.Tasks(nil)
	r := s.bySet[n.Labels.Address()]
	frozen := r != nil && !r.others && !r.twice && len(s.calls[n]) == 0 &&
		(s.isStuck(n) || n.IsJoining() && len(below) > 0) &&
		!slices.ContainsFunc(below, func(k *scope.Node) bool { return !s.isFrozen(k) })
	s.frozen[n] = frozen
	return frozen
}

// confirm drops all jams if one of the waiters has continued since: then the semaphores were not read at one moment. If none has, all of them
// waited from the first reading to the last.
func (s *snapshot) confirm() {
	moved := slices.ContainsFunc(s.endWaiters, func(j *scope.EndWaiter) bool { return !j.StillWaits() })
	for _, j := range s.jams {
		moved = moved || slices.ContainsFunc(j.queue[j.first:], func(a *scope.SemWaiter) bool { return a.IsAwake() })
	}
	if moved {
		clear(s.jams)
	}
}

// jamEdges returns for each waiter at a jammed semaphore the tasks that it waits for: those that have acquired the semaphore and cannot
// continue, and the waiter right before it.
func (s *snapshot) jamEdges() map[*scope.Node][]*scope.Node {
	edges := make(map[*scope.Node][]*scope.Node)
	if len(s.jams) == 0 {
		return edges
	}
	for n, a := range s.waiting {
		if !s.jammed(n) {
			continue
		}
		j := s.jams[a.S]
		for _, t := range j.takers {
			if t.n != nil && s.frozen[t.n] {
				edges[n] = append(edges[n], t.n)
			}
		}
		if place := j.places[a]; place > j.first {
			before := j.queue[place-1]
			if r := s.bySet[before.Set]; r != nil && r.n != nil && s.waiting[r.n] == before {
				edges[n] = append(edges[n], r.n)
			}
		}
	}
	return edges
}
