package job

import (
	"context"
	"strconv"

	"github.com/meanwhile-go/meanwhile"
)

// A slot is a task that runs one attempt after the other. Idle slots are kept for a while: a new goroutine would have to grow its stack for each
// job, which costs more than everything else that is done for a small one. To cancel an attempt is to cancel its slot, which ends with it: a
// context for each attempt that can be canceled takes a kilobyte. A handler that calls runtime.Goexit ends its slot, too; the next job gets
// another.
type slot struct {
	next   chan *execution // capacity 1; closed to end the slot
	cancel func(cause error)
}

// launch runs e in a slot. r.mu is held.
func (r *run) launch(e *execution) {
	if n := len(r.idle); n > 0 {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.leastIdle = min(r.leastIdle, n-1)
		s.next <- e
		return
	}
	s := &slot{next: make(chan *execution, 1)}
	s.next <- e
	r.slots++
	s.cancel = meanwhile.Go(r.jobs, func(ctx context.Context) error {
		r.mu.Lock() // held by launch until the slot can be canceled
		cancel := s.cancel
		r.mu.Unlock()
		for e := range s.next {
			canceled := e.attempt(ctx, cancel)
			r.mu.Lock()
			if r.closing || canceled {
				close(s.next)
			} else {
				r.idle = append(r.idle, s)
			}
			r.mu.Unlock()
		}
		return nil
	}, meanwhile.Name("slot"), meanwhile.ID(strconv.Itoa(r.slots))).Cancel
}

// trimSlots ends the slots that were idle all the time since the last call.
func (r *run) trimSlots() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSlots(min(r.leastIdle, len(r.idle)))
}

// closeSlots ends all slots, busy ones as soon as they become idle.
func (r *run) closeSlots() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	r.endSlots(len(r.idle))
}

// endSlots ends the n slots that have been idle longest. r.mu is held.
func (r *run) endSlots(n int) {
	for _, s := range r.idle[:n] {
		close(s.next)
	}
	r.idle = append(r.idle[:0], r.idle[n:]...)
	r.leastIdle = len(r.idle)
}
