package memory

import stdheap "container/heap"

// hold records a discarded job, if the jobs behind it have to wait for it.
func (q *queue) hold(e *entry) {
	if !q.Limits.EachKey.HoldOnDiscard {
		return
	}
	of := q.holders[e.LimitKey]
	if of == nil {
		of = &ordered{}
		q.holders[e.LimitKey] = of
	}
	stdheap.Push(of, e)
	e.holds = true
	q.lane(e.LimitKey) // marks the lane: the next claim closes it
}

// release is called when a job that holds its key is no longer discarded.
func (q *queue) release(e *entry) {
	of := q.holders[e.LimitKey]
	stdheap.Remove(of, e.place)
	if e.holds = false; of.Len() == 0 {
		delete(q.holders, e.LimitKey)
	}
	q.lane(e.LimitKey)
}

// releaseAll releases the jobs of all keys.
func (q *queue) releaseAll() {
	for _, of := range q.holders {
		for _, e := range *of {
			e.holds = false
		}
	}
	clear(q.holders)
}

// holder returns the discarded job that all queued jobs of a lane wait for, or nil.
func (q *queue) holder(l *lane) *entry {
	of := q.holders[l.Key]
	if of == nil {
		return nil
	}
	if first := l.ordered.first(); first != nil && createdBefore(first, of.first()) {
		return nil
	}
	return of.first()
}

// nextInOrder returns the queued job of a lane that may start when it is due, or nil.
func (q *queue) nextInOrder(l *lane) *entry {
	if q.holder(l) != nil {
		return nil
	}
	return l.ordered.first()
}
