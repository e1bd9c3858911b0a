// Package memory keeps jobs in the memory of the process: for tests, and for work that need not survive the process.
//
// It waits only on channels and timers, so it works in testing/synctest, where days take milliseconds.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/wakeup"
	"github.com/meanwhile-go/meanwhile/job"
)

func init() {
	job.Register("memory", checkURL, func(_ context.Context, url string) (job.Store, error) {
		if err := checkURL(url); err != nil {
			return nil, err
		}
		return New(), nil
	})
}

// checkURL refuses a name: it would suggest that two programs, or two calls, could share a store.
func checkURL(url string) error {
	if url != "memory:" {
		return errors.New("memory: names a new store: nothing may follow it")
	}
	return nil
}

// A Store is a [job.Store] in memory. Jobs are copied when they are stored and when they are returned. A claim costs O(log n) in
// the number of jobs in its queue; the cost of counts and pages does not grow with it.
type Store struct {
	mu       sync.Mutex
	closed   bool
	jobs     map[job.ID]*entry
	order    order
	metaIDs  map[string][]*entry // by job.MetaID, oldest first
	queues   map[string]*queue
	finished map[job.State]*heap
	canceled map[job.ID]*entry // running jobs with CancelRequested
	keys     map[string]hold
	counts   map[countKey]int64
	sessions map[job.Session]*session
	workers  map[string]job.WorkerInfo
	crons    map[string]*job.CronInfo
	watches  map[job.ID]*watch
	commands map[string][]waiting // by worker
	stats    map[statKey]job.Stat
	past     map[statKey]job.Stat // stats by span
	audit    []job.AuditEntry     // the newest last
	audited  int64                // the highest N of an entry so far
	events   wakeup.Events
}

// New makes an empty store. It need not be closed unless something waits on it.
func New() *Store {
	return &Store{
		jobs:    map[job.ID]*entry{},
		metaIDs: map[string][]*entry{},
		queues:  map[string]*queue{},
		finished: map[job.State]*heap{
			job.Completed: {less: finishedBefore},
			job.Canceled:  {less: finishedBefore},
			job.Discarded: {less: finishedBefore},
		},
		canceled: map[job.ID]*entry{},
		keys:     map[string]hold{},
		counts:   map[countKey]int64{},
		sessions: map[job.Session]*session{},
		workers:  map[string]job.WorkerInfo{},
		crons:    map[string]*job.CronInfo{},
		watches:  map[job.ID]*watch{},
		commands: map[string][]waiting{},
		stats:    map[statKey]job.Stat{},
		past:     map[statKey]job.Stat{},
	}
}

// Ping returns nil until the store is closed.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.enter(ctx, "ping"); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Close closes the store. The jobs in it are gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.events.Wake()
	return nil
}

// enter locks the store for a call and returns the time, unless the store is closed or ctx canceled.
func (s *Store) enter(ctx context.Context, what string) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", what, err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return time.Time{}, fmt.Errorf("%s: %w", what, job.ErrClosed)
	}
	return time.Now().Round(0).UTC(), nil
}
