package logs

import (
	"fmt"
	"io"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// senderQueue is the source of a sender's own records: first those in the spool, then those in memory.
type senderQueue struct{ s *Sender }

func (o senderQueue) ready() <-chan struct{} { return o.s.ready }

func (o senderQueue) reset(last uint64) error {
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if last > s.number {
		return fmt.Errorf("the server has number %d of this client, which has sent up to %d", last, s.number)
	}
	s.inflight, s.inflightBytes, s.sent = s.inflight[:0], 0, 0
	if s.spool != nil {
		s.spool.rewind()
	}
	s.online, s.trouble = true, nil
	s.settleUpTo(last)
	cond.Signal(s.connected)
	cond.Signal(s.owed)
	return nil
}

func (o senderQueue) next() (f outFrame, wait time.Duration, ok bool, err error) {
	f, wait, ok, err = o.batch()
	if f.batch != nil {
		f.head, f.payload = f.batch.frame(o.s.zstd)
	}
	return f, wait, ok, err
}

func (o senderQueue) batch() (f outFrame, wait time.Duration, ok bool, err error) {
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflightBytes >= window {
		return f, 0, false, nil
	}
	if s.spool != nil {
		// The mutex is held while a frame is read, usually from the page cache. That is the price for an order of spool and memory that
		// never depends on timing.
		frame, last, err := s.spool.next(s.acked)
		if err != nil {
			s.errors.report(err)
		}
		if frame != nil {
			s.addInflight(last, len(frame))
			return outFrame{head: frame}, 0, true, nil
		}
	}
	if !s.collectSome() {
		if s.closed && len(s.inflight) == 0 {
			return f, 0, false, io.EOF
		}
		return f, 0, false, nil
	}
	if s.sent == len(s.sealed) {
		if wait := s.lingers(); wait > 0 {
			return f, wait, false, nil
		}
		s.seal()
	}
	b := s.sealed[s.sent]
	s.sent++
	b.busy++
	s.addInflight(b.Last, b.size())
	f.batch = b
	return f, 0, true, nil
}

// collectSome collects, and reports whether there is anything to send. If there is not, the next caller that adds a record wakes the
// sender.
func (s *Sender) collectSome() bool {
	s.collect()
	if s.sent < len(s.sealed) || s.open != nil {
		return true
	}
	s.idle.Store(true)
	s.collect() // records of callers that have not seen that
	if s.sent < len(s.sealed) || s.open != nil {
		s.idle.Store(false)
		return true
	}
	return false
}

// lingers returns for how long the open batch waits for more records.
func (s *Sender) lingers() time.Duration {
	if s.hurry || s.closed || s.open.size() >= sealSize {
		return 0
	}
	return s.o.Linger - time.Since(s.open.begun)
}

func (s *Sender) addInflight(last uint64, size int) {
	s.inflight = append(s.inflight, inFlightBatch{last, size})
	s.inflightBytes += size
}

func (o senderQueue) sent(f outFrame) {
	if f.batch != nil {
		o.s.mu.Lock()
		o.s.release(f.batch)
		o.s.mu.Unlock()
	}
}

// release ends the use of a batch by a reader that has increased busy.
func (s *Sender) release(b *outBatch) {
	b.busy--
	s.reuse(b)
}

func (o senderQueue) acknowledged(n uint64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.s.settleUpTo(n)
	cond.Signal(o.s.ready)
}

// settleUpTo forgets the records up to a number, which the server has.
func (s *Sender) settleUpTo(n uint64) {
	s.acked = max(s.acked, min(n, s.number))
	landed := 0
	for landed < len(s.inflight) && s.inflight[landed].last <= n {
		s.inflightBytes -= s.inflight[landed].size
		landed++
	}
	s.inflight = append(s.inflight[:0], s.inflight[landed:]...)
	known := 0
	for known < len(s.sealed) && s.sealed[known].Last <= s.acked {
		known++
	}
	s.forget(known)
	if s.spool != nil && !s.spool.empty() {
		cond.Signal(s.spill)
	}
	s.broadcast()
}
