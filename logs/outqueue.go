package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// crowdedEvery is the number of records after which their caller yields the processor while memory is more than half full. Otherwise
// goroutines that only log would starve the sender and the spool.
const crowdedEvery = 64

// put adds an encoded record, or counts it as dropped.
func (s *Sender) put(service string, record []byte, at int64) error {
	if service == "" || service == s.o.Service {
		crowded, err := s.addToShard(record, at, true)
		if crowded {
			runtime.Gosched()
		}
		return err
	}
	s.mu.Lock()
	err := s.enqueue(service, record, at)
	crowded := s.used.Load() > int64(s.o.MemoryBytes/2) && s.stats.Added%crowdedEvery == 0
	s.mu.Unlock()
	if err != nil {
		s.drop()
	}
	if crowded {
		runtime.Gosched()
	}
	return err
}

// drop counts a record as dropped.
func (s *Sender) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Dropped++
	s.drops.add(1)
	cond.Signal(s.owed)
}

// wait adds an encoded record. While there is no buffer space for it, wait blocks until end has a value or ctx is canceled.
func (s *Sender) wait(ctx context.Context, service string, record []byte, at int64, end <-chan time.Time) error {
	for {
		s.mu.Lock()
		err, changed := s.enqueue(service, record, at), s.changed
		s.mu.Unlock()
		if !errors.Is(err, ErrFull) {
			return err
		}
		select {
		case <-changed:
		case <-end:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitFor is wait for a limited time. An error other than ErrClosed is ErrFull, or wraps it and the cause of ctx.
func (s *Sender) waitFor(ctx context.Context, most time.Duration, record []byte, at int64) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	err := s.wait(ctx, "", record, at, timer.C)
	if err == nil || errors.Is(err, ErrFull) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFull, err)
}

// enqueue appends an encoded record after all that were added before. The mutex is held.
func (s *Sender) enqueue(service string, record []byte, at int64) error {
	if s.closed {
		return ErrClosed
	}
	if !s.admit(len(record)) {
		cond.Signal(s.spill)
		return ErrFull
	}
	s.collect()
	if service == "" {
		service = s.o.Service
	}
	s.appendRecord(service, record, at)
	return nil
}

// appendRecord appends an encoded record to the open batch. The mutex is held.
func (s *Sender) appendRecord(service string, record []byte, at int64) {
	b := s.open
	if b != nil && (len(b.Data)+len(record) > sealSize || b.Service != service) {
		s.seal()
		b = nil
	}
	if b == nil {
		b = s.openBatch(service)
	}
	b.add(record, at)
	s.stats.Added++
}

// openBatch opens a batch of a service. The mutex is held.
func (s *Sender) openBatch(service string) *outBatch {
	if n := len(s.free); n > 0 {
		s.open, s.free = s.free[n-1], s.free[:n-1]
	} else {
		space := firstRoom
		if len(s.sealed) > 0 { // it will probably be filled
			space = sealSize
		}
		s.open = &outBatch{Batch: Batch{Data: make([]byte, 0, space)}}
	}
	s.open.Service, s.open.Client, s.open.begun = service, s.id, time.Now()
	cond.Signal(s.ready)
	return s.open
}

// seal numbers the records of the open batch and appends it to the sealed batches.
func (s *Sender) seal() {
	b := s.open
	if b == nil {
		return
	}
	b.First, b.Last = s.number+1, s.number+uint64(b.Count)
	s.number = b.Last
	s.sealed = append(s.sealed, b)
	s.open = nil
	cond.Signal(s.ready)
	if s.used.Load() > int64(s.o.MemoryBytes/2) {
		cond.Signal(s.spill)
	}
}

// forget removes the n oldest sealed batches, which are acknowledged or in the spool.
func (s *Sender) forget(n int) {
	for _, b := range s.sealed[:n] {
		s.used.Add(-int64(b.size()))
		b.gone = true
		s.reuse(b)
	}
	s.sealed = append(s.sealed[:0], s.sealed[n:]...)
	s.sent = max(0, s.sent-n)
}

// reuse keeps the memory of a batch that is no longer needed.
func (s *Sender) reuse(b *outBatch) {
	if b.gone && b.busy == 0 && len(s.free) < keptBatches && cap(b.Data) <= 2*sealSize {
		s.free = append(s.free, b.renew())
	}
}

// broadcast wakes all goroutines that wait for a change.
func (s *Sender) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// putAway writes the remaining records to the spool after the tasks have ended, and closes it.
func (s *Sender) putAway() error {
	s.mu.Lock()
	s.countDrops()
	left := int64(0)
	for _, b := range s.sealed {
		left += int64(b.Count)
	}
	s.mu.Unlock()
	if s.spool == nil {
		if left > 0 {
			return fmt.Errorf("%d log records were not sent, and there is no spool", left)
		}
		return nil
	}
	err := s.spillAll()
	if s.drops.unsaved() && s.drops.owes() {
		err = cmp.Or(err, s.spool.saveDrops())
	}
	s.mu.Lock()
	acked := s.acked
	s.mu.Unlock()
	if closing := s.spool.close(acked); err == nil {
		err = closing
		if errors.Is(closing, fs.ErrNotExist) { // the folder was removed, with everything in it
			left = s.spool.records(acked)
		}
	}
	if err != nil {
		return fmt.Errorf("%d log records were not sent: %w", left, err)
	}
	return nil
}
