package memory

import (
	"bytes"
	stdheap "container/heap"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// An entry is a job in the store. It is in one heap: that of its queue if unfinished, else that of its state.
type entry struct {
	job.Job // without its Detail, and of its Options only with the LimitKey and the Cost; its Args belong to the store
	detail  []byte
	options []byte
	session job.Session // the session that holds it while it runs
	call    int64       // the claim of that session that got it
	metaID  string      // the job.MetaID of its options
	removed bool

	heap  *heap
	index int
	place int  // index among the jobs of its lane in order, or among those that hold its key
	holds bool // it was discarded and holds its key
}

// copyOut returns the job for a caller.
func (e *entry) copyOut() *job.Job {
	j := e.Job
	j.Args = bytes.Clone(e.Args)
	if err := j.DecodeDetail(e.detail); err != nil {
		panic("job/memory: detail of " + e.ID.String() + ": " + err.Error()) // it was encoded from a Detail
	}
	if err := j.DecodeOptions(e.options); err != nil {
		panic("job/memory: options of " + e.ID.String() + ": " + err.Error())
	}
	return &j
}

// uncountReleases resets the number of times that the job was released.
func (e *entry) uncountReleases() {
	if e.detail == nil {
		return
	}
	j := e.copyOut()
	j.Released = 0
	e.detail = j.EncodeDetail()
}

// setDue sets when a queued job is due.
func (e *entry) setDue(j *job.Job, now time.Time) {
	e.RunAt = j.RunAt.Round(0).UTC()
	if j.RunAt.IsZero() {
		e.RunAt = now.Add(max(j.Delay, 0))
	}
}

// link adds a job, in its current state, to the indexes, and counts it.
func (s *Store) link(e *entry) {
	switch q := s.queue(e.Queue); e.State {
	case job.Queued:
		l := q.lane(e.LimitKey)
		l.ready[e.Priority-1].push(e)
		if l.Key != "" {
			stdheap.Push(&l.ordered, e)
		}
		q.queued++
	case job.Running:
		q.lane(e.LimitKey).Running++
		q.running.push(e)
		if e.CancelRequested {
			s.canceled[e.ID] = e
		}
	default:
		s.finished[e.State].push(e)
		if q := s.queues[e.Queue]; q != nil && e.State == job.Discarded && e.LimitKey != "" {
			q.hold(e)
		}
	}
	s.counts[e.countKey()]++
}

// unlink is called before a job changes.
func (s *Store) unlink(e *entry) {
	if e.State == job.Queued && e.LimitKey != "" && s.queue(e.Queue).Limits.EachKey.InOrder {
		s.notify(e.Queue) // the next of its lane may start
	}
	s.leave(e)
	s.dropIdle(e.Queue)
}

// leave is unlink for a job that stays in its queue.
func (s *Store) leave(e *entry) {
	e.heap.remove(e)
	switch e.State {
	case job.Queued:
		q := s.queue(e.Queue)
		if l := q.lane(e.LimitKey); l.Key != "" {
			stdheap.Remove(&l.ordered, e.place)
		}
		q.queued--
	case job.Running:
		q := s.queue(e.Queue)
		q.ended(e.LimitKey)
		if q.limited() {
			s.notify(e.Queue)
		}
	default:
		if e.holds {
			s.queue(e.Queue).release(e)
			s.notify(e.Queue)
		}
	}
	delete(s.canceled, e.ID)
	if key := e.countKey(); s.counts[key] > 1 {
		s.counts[key]--
	} else {
		delete(s.counts, key)
	}
}

// remove deletes an unlinked job.
func (s *Store) remove(e *entry) {
	delete(s.jobs, e.ID)
	e.removed = true
	s.order.removed()
	if e.metaID == "" {
		return
	}
	if same := slices.DeleteFunc(s.metaIDs[e.metaID], func(other *entry) bool { return other == e }); len(same) > 0 {
		s.metaIDs[e.metaID] = same
	} else {
		delete(s.metaIDs, e.metaID)
	}
}

// finish moves an unlinked job to its final state.
func (s *Store) finish(e *entry, state job.State, now time.Time) {
	e.State, e.Finished, e.CancelRequested = state, now, false
	s.letGo(e, now)
}

type countKey struct {
	queue, kind string
	state       job.State
}

func (e *entry) countKey() countKey { return countKey{e.Queue, e.Kind, e.State} }
