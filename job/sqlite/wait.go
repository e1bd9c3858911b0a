package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	polling  = 20 * time.Millisecond // between looks for what other processes wrote
	everyone = ""                    // stands for all queues
)

// waits wakes those that wait for jobs. What makes jobs due is an event with a number.
type waits struct {
	mu      sync.Mutex
	event   uint64
	queues  map[string]uint64 // the last event of each
	changed chan struct{}     // closed with the next event; nil when nobody waits
	// told has, by the queues they wait for, up to which events those callers know that are not waiting now. Who comes
	// gets the lowest: callers cannot be told apart, and it does no harm to be told twice.
	told map[string][]uint64

	pollMu  sync.Mutex
	polled  time.Time
	version int64 // of the data, as the writer's connection sees what others write
}

// notify says that jobs of some queues may have become due.
func (w *waits) notify(queues map[string]bool) {
	if len(queues) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queues == nil {
		w.queues = map[string]uint64{}
	}
	w.event++
	for name := range queues {
		w.queues[name] = w.event
	}
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// look returns the last event if it is of interest and newer than told, and otherwise a channel to wait on.
func (w *waits) look(queues []string, told uint64) (uint64, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := w.queues[everyone]
	for _, name := range queues {
		newest = max(newest, w.queues[name])
	}
	if newest > told {
		return w.event, nil
	}
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return told, w.changed
}

func (w *waits) enter(key string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.told[key]
	if len(known) == 0 {
		return 0
	}
	w.told[key] = known[1:]
	return known[0]
}

func (w *waits) leave(key string, told uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told == nil {
		w.told = map[string][]uint64{}
	}
	i, _ := slices.BinarySearch(w.told[key], told)
	w.told[key] = slices.Insert(w.told[key], i, told)
}

// Wait returns nil when a job may have become due in one of the queues since the last call: at once for what this store
// wrote, within about 20 ms for what others did.
func (s *Store) Wait(ctx context.Context, queues ...string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for jobs: %w", err)
	}
	key := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	told := s.waits.enter(key)
	defer func() { s.waits.leave(key, told) }()
	over := time.NewTimer(job.LongestWait)
	defer over.Stop()
	poll := time.NewTicker(polling)
	defer poll.Stop()
	for {
		var changed <-chan struct{}
		if told, changed = s.waits.look(queues, told); changed == nil && !s.isClosed() {
			return nil
		}
		select {
		case <-changed:
		case <-poll.C:
			if err := s.poll(); err != nil {
				return s.explain("wait for jobs", err)
			}
		case <-over.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for jobs: %w", ctx.Err())
		case <-s.closed:
			return fmt.Errorf("wait for jobs: %w", job.ErrClosed)
		}
	}
}

// poll looks whether others have written to the file, unless somebody else has just done so or the writer is in use: then
// the next look finds it.
func (s *Store) poll() error {
	w := &s.waits
	if !w.pollMu.TryLock() {
		return nil
	}
	defer w.pollMu.Unlock()
	if time.Since(w.polled) < polling/2 || !s.writerMu.TryLock() {
		return nil
	}
	defer s.writerMu.Unlock()
	if s.isClosed() {
		return nil
	}
	w.polled = time.Now()
	row, err := one(s.writer, statement("data_version"))
	if err != nil {
		return err
	}
	if version := integer(row[0]); version != w.version {
		w.version = version
		w.notify(map[string]bool{everyone: true})
	}
	return nil
}
