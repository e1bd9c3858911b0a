package memory

import (
	"bytes"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// An entry is a job in the store. It is in one heap: of its queue when unfinished, else of its state.
type entry struct {
	job.Job // its Detail and Options are empty, and its Args belong to the store
	detail  []byte
	options []byte
	lease   time.Time // while it runs
	removed bool

	heap  *heap
	index int
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

// setDue sets when a queued job is due.
func (e *entry) setDue(j *job.Job, now time.Time) {
	e.RunAt = j.RunAt.Round(0).UTC()
	if j.RunAt.IsZero() {
		e.RunAt = now.Add(max(j.Delay, 0))
	}
}

// link puts a job, as it is now, where it is to be found, and counts it.
func (s *Store) link(e *entry) {
	switch e.State {
	case job.Queued:
		s.queue(e.Queue).ready[e.Priority-1].push(e)
	case job.Running:
		s.queue(e.Queue).running.push(e)
		if e.CancelRequested {
			s.canceled[e.ID] = e
		}
	default:
		s.finished[e.State].push(e)
	}
	s.counts[e.countKey()]++
}

// unlink is called before a job changes.
func (s *Store) unlink(e *entry) {
	e.heap.remove(e)
	delete(s.canceled, e.ID)
	if key := e.countKey(); s.counts[key] > 1 {
		s.counts[key]--
	} else {
		delete(s.counts, key)
	}
	s.dropIdle(e.Queue)
}

// remove deletes a job that is unlinked.
func (s *Store) remove(e *entry) {
	delete(s.jobs, e.ID)
	e.removed = true
	s.order.removed()
}

// finish moves an unlinked job to its final state.
func (s *Store) finish(e *entry, state job.State, now time.Time) {
	e.State, e.Finished, e.CancelRequested, e.lease = state, now, false, time.Time{}
	s.letGo(e, now)
}

type countKey struct {
	queue, kind string
	state       job.State
}

func (e *entry) countKey() countKey { return countKey{e.Queue, e.Kind, e.State} }
