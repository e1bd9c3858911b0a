package logtest

import (
	"context"
	"maps"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A Recorder is an [input.Batcher] that keeps the records it gets. The zero Recorder is ready. Unlike other batchers it may be used by
// several goroutines at once.
type Recorder struct {
	// OnFlush, if set before use, is called by Flush and Sync, which return its error: a batcher that is slow or fails.
	OnFlush func(ctx context.Context) error

	mu             sync.Mutex
	added, flushed []logs.Record
	flushes, syncs int
	synced         int // how many of flushed a Sync has returned for
	refused        map[string]int
}

// Add keeps a record as it is: nothing is truncated or left out, and no time is set.
func (r *Recorder) Add(v *logs.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added = append(r.added, v.Record())
}

// Flush marks the added records as flushed.
func (r *Recorder) Flush(ctx context.Context) error { return r.flush(ctx, false) }

// Sync does what Flush does, and is counted as a Sync.
func (r *Recorder) Sync(ctx context.Context) error { return r.flush(ctx, true) }

func (r *Recorder) flush(ctx context.Context, sync bool) error {
	if r.OnFlush != nil {
		if err := r.OnFlush(ctx); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed = append(r.flushed, r.added...)
	r.added = nil
	if r.flushes++; sync {
		r.syncs++
		r.synced = len(r.flushed)
	}
	return nil
}

// Refuse counts a refusal by its reason.
func (r *Recorder) Refuse(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = make(map[string]int)
	}
	r.refused[reason]++
}

// Records returns the records that were flushed, in the order in which they came.
func (r *Recorder) Records() []logs.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]logs.Record(nil), r.flushed...)
}

// Added returns the records that were not flushed yet.
func (r *Recorder) Added() []logs.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]logs.Record(nil), r.added...)
}

// Messages returns the messages of the records that were flushed.
func (r *Recorder) Messages() []string {
	var messages []string
	for _, record := range r.Records() {
		messages = append(messages, record.Message)
	}
	return messages
}

// Synced returns how many of the flushed records a Sync has returned for, and how many calls of Flush and Sync, and of Sync
// alone, there were.
func (r *Recorder) Synced() (records, flushes, syncs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.synced, r.flushes, r.syncs
}

// Refused returns how often each reason was given.
func (r *Recorder) Refused() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.refused)
}
