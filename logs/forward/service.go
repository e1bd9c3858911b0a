package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A forwarded is the progress of a forwarder with one service. Its fields are guarded by the forwarder's mutex.
type forwarded struct {
	f           *Forwarder
	service     string
	running     bool                 // whether it has a task
	unreachable bool                 // whether the last call of Send failed
	next        uint64               // the next number: all records before it were acknowledged, filtered out, refused or deleted
	stored      storage.ServiceStats // of the last check of the store
	oldest      time.Time            // of the records that are being sent
	most        int                  // records of the next batch; zero: Forwarder.Records. Only the task uses it

	sent, left, refused, gone, retries int64
	err                                error
}

func (s *forwarded) statsLocked() Stats {
	stats := Stats{
		Service: s.service, Next: s.next, Sent: s.sent, Left: s.left, Refused: s.refused, Gone: s.gone, Retries: s.retries, Err: s.err,
	}
	if s.stored.Last >= s.next {
		stats.Lag = int64(s.stored.Last - s.next + 1)
		if !s.oldest.IsZero() {
			stats.Behind = max(0, time.Since(s.oldest))
		}
	}
	return stats
}

// settleLocked moves next to a record that the store has, and reports whether there is something to send.
func (s *forwarded) settleLocked() bool {
	first, last := s.stored.First, s.stored.Last
	if s.stored.Records == 0 {
		first = last + 1
	}
	switch {
	case s.next > last+1: // another store than before, or one that lost its newest records in a power failure
		s.f.Logger.Warn("logs: a forwarder was ahead of its store, and begins anew there", "output", s.f.Name, "service", s.service, "next", s.next, "last", last)
		s.advanceLocked(max(first, 1))
	case s.next < first:
		s.skipLocked(first)
	}
	return s.next <= last
}

func (s *forwarded) advanceLocked(next uint64) {
	s.next = next
	s.f.saved = false
}

// skipLocked skips records that the store does not have any more, and counts them.
func (s *forwarded) skipLocked(next uint64) {
	s.f.Logger.Warn("logs: records were deleted or damaged before they were forwarded", "output", s.f.Name, "service", s.service, "records", next-s.next)
	s.gone += int64(next - s.next)
	s.advanceLocked(next)
}

// run sends the records that the store has of the service, and ends when it has sent all. The next check of the store that finds more
// starts another task.
func (s *forwarded) run(ctx context.Context) error {
	defer func() {
		s.f.mu.Lock()
		s.running, s.oldest = false, time.Time{}
		s.f.mu.Unlock()
		select {
		case s.f.finished <- struct{}{}:
		default:
		}
	}()
	s.f.mu.Lock()
	last, before := s.stored.Last, s.next
	s.f.mu.Unlock()
	for failures := 0; ; {
		more, err := s.forwardNext(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		unreachable, ok := errors.AsType[*unreachableError](err)
		if !ok && (err != nil || !more) {
			s.ended(last, err)
			return nil
		}
		if !ok {
			continue
		}
		s.f.mu.Lock()
		if s.next > before {
			failures, before = 0, s.next
		}
		s.err, s.unreachable = unreachable.err, true
		s.retries++
		s.f.mu.Unlock()
		s.f.reportUnreachable(s.service, unreachable.err)
		if err := meanwhile.Sleep(ctx, s.f.backoff(failures, unreachable.err)); err != nil {
			return err
		}
		failures++
	}
}

// An unreachableError is an error of the output, after which the same records are sent again. Other errors come from the store.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return e.err.Error() }

// A forwardBatch has the records of one call of Send.
type forwardBatch struct {
	records []logs.Record
	bytes   int
	after   uint64 // the number after the last record that was read, also if the filter left it out
	left    int64
}

// maxTurn is how long a service may send while others wait for their turn.
const maxTurn = time.Second

// forwardNext sends batch after batch. It returns true if there are more but other services wait for their turn. Only services whose turn
// it is have records in memory and files of the store open: records that an output did not take are read again later.
func (s *forwarded) forwardNext(ctx context.Context) (more bool, err error) {
	if err := s.f.calls.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer s.f.calls.Release(1)
	began := time.Now()
	s.f.mu.Lock()
	b := &forwardBatch{after: s.next}
	s.f.mu.Unlock()
	everything := s.f.Filter.String() == ""
	for r, err := range s.f.Store.Read(ctx, s.service, b.after) {
		if err != nil {
			return false, err
		}
		if r.Number > b.after {
			if err := s.forward(ctx, b); err != nil {
				return false, err
			}
			s.f.mu.Lock()
			s.skipLocked(r.Number)
			s.f.mu.Unlock()
		}
		b.after = r.Number + 1
		if v := r.View(); !everything && !s.f.Filter.Match(&v) {
			b.left++
			continue
		}
		b.records = append(b.records, r)
		if b.bytes += sizeOf(&r); len(b.records) >= cmp.Or(s.most, s.f.Records) || b.bytes >= s.f.Bytes {
			if err := s.forward(ctx, b); err != nil {
				return false, err
			}
			if s.f.calls.Waiting() > 0 && time.Since(began) >= maxTurn {
				return true, nil
			}
		}
	}
	return false, s.forward(ctx, b)
}

// forward sends a batch, and empties it when the output has accepted it.
func (s *forwarded) forward(ctx context.Context, b *forwardBatch) error {
	if len(b.records) > 0 {
		if err := s.send(ctx, b.records); err != nil {
			return err
		}
	}
	s.done(b)
	clear(b.records) // so that the garbage collector can free their texts
	*b = forwardBatch{records: b.records[:0], after: b.after}
	return nil
}

// done moves next past a batch that was accepted.
func (s *forwarded) done(b *forwardBatch) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.left += b.left
	if b.after > s.next {
		s.advanceLocked(b.after)
	}
}

// send sends records. If the output refuses all of them because of some, it sends one half after the other to find those. After an error
// the next batch has as many records as the call that failed, so that such a search continues where it was.
func (s *forwarded) send(ctx context.Context, records []logs.Record) error {
	err := s.call(ctx, records)
	some, ok := errors.AsType[*RefusedError](err)
	switch s.most = 0; {
	case err == nil:
		s.taken(records, 0)
	case ok:
		s.f.reportRefused(s.service, some.Why)
		s.taken(records, min(some.Count, len(records)))
	case !errors.Is(err, ErrRefused):
		s.most = len(records)
		return &unreachableError{err}
	case len(records) == 1:
		s.f.reportRefused(s.service, err.Error())
		s.taken(records, 1)
	default:
		half := len(records) / 2
		if err := s.send(ctx, records[:half]); err != nil {
			return err
		}
		return s.send(ctx, records[half:])
	}
	return nil
}

// call calls Send once.
func (s *forwarded) call(ctx context.Context, records []logs.Record) error {
	s.f.mu.Lock()
	s.oldest = records[0].Time
	s.f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.f.Timeout)
	defer cancel()
	return s.f.Output.Send(ctx, records)
}

// taken counts records that were acknowledged or refused, and moves next past them.
func (s *forwarded) taken(records []logs.Record, refused int) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.sent += int64(len(records) - refused)
	s.refused += int64(refused)
	s.err, s.unreachable = nil, false
	s.advanceLocked(records[len(records)-1].Number + 1)
	s.f.reportReachableLocked()
}

// ended records that all records up to last were read, or the error of the store.
func (s *forwarded) ended(last uint64, err error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	switch {
	case err == nil && s.next <= last: // the rest is damaged
		s.skipLocked(last + 1)
	case err != nil && s.err == nil:
		s.f.Logger.Error("logs: a forwarder cannot read the store", "output", s.f.Name, "service", s.service, "error", err)
	}
	s.err, s.unreachable = err, false
}

// sizeOf returns about how many bytes a record has when it is sent.
func sizeOf(r *logs.Record) int {
	n := 64 + len(r.Message) + len(r.Task) + len(r.Job)
	for _, a := range r.Attrs {
		n += 16 + len(a.Key)
		switch a.Value.Kind() {
		case slog.KindString:
			n += len(a.Value.String())
		case slog.KindAny:
			if text, ok := a.Value.Any().(json.RawMessage); ok {
				n += len(text)
			}
		}
	}
	return n
}
