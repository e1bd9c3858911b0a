package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Forwarder sends the records of a store to an [Output], service by service and in order. The store is its spool: while the output is
// unreachable, only its place in the store is kept, in the file Cursor. Nothing is lost except the records that the store's retention
// deletes in the meantime, which are counted.
//
// Each record arrives at least once. After a kill of the process, the records that were sent in its last second are sent again, with the
// same identities.
//
// Set the fields before Run and do not change them afterwards. The zero value of each field means the default that its comment
// names.
type Forwarder struct {
	Store  storage.Store
	Output Output
	Name   string        // in the names of tasks and in log records; default "output"
	Filter filter.Filter // which records; the zero Filter: all
	Cursor string        // the file that keeps its place; "" keeps it in memory alone

	// Newest starts after the records that are stored already, instead of at the oldest record, if there is no cursor yet.
	Newest bool

	Records  int           // of one call of Send, at most; default 1000
	Bytes    int           // of one call, about, unless one record has more; default 1 MiB
	AtOnce   int           // calls of Send, each of another service; default 4
	Interval time.Duration // between checks of the store, so that calls are not small; default 200 ms

	Timeout  time.Duration // of one call of Send; default 30 s
	RetryMin time.Duration // bound of the random wait after a first failure; doubles with each further one; default 200 ms
	RetryMax time.Duration // bound of all of them; default 30 s

	Logger *slog.Logger // logs when the output is unreachable and is back, and what it refuses; default slog.Default()

	once     sync.Once
	calls    *meanwhile.Semaphore
	finished chan struct{} // wakes the next check of the store

	mu       sync.Mutex
	services map[string]*forwarded
	saved    bool // whether the cursor is what the file holds
	outage   outage
}

// Stats reports the progress of a [Forwarder] with one service. Counts begin when Run is called.
type Stats struct {
	Service string        `json:"service"`
	Next    uint64        `json:"next"`    // the number of the record that is sent next
	Lag     int64         `json:"lag"`     // records that were stored and not yet sent at the last check of the store
	Behind  time.Duration `json:"-"`       // the age of the oldest of them; zero when none waits
	Sent    int64         `json:"sent"`    // records that the output has acknowledged
	Left    int64         `json:"left"`    // records that the filter left out
	Refused int64         `json:"refused"` // records that the output will never accept
	Gone    int64         `json:"gone"`    // records that were deleted by retention, or damaged, before they were sent
	Retries int64         `json:"retries"` // calls of Send that failed and were made again
	Err     error         `json:"-"`       // why it waits now; nil if it does not
}

// Run forwards until ctx is canceled, and returns its cause; calls of Send are canceled then. It returns an error at once if the cursor
// cannot be read, or its folder cannot be written to, and when the store has been closed.
func (f *Forwarder) Run(ctx context.Context) error {
	f.setUp()
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if err := f.loadCursor(ctx); err != nil {
			return err
		}
		err := f.forward(ctx)
		return errors.Join(err, f.save())
	}, meanwhile.Name("forward to "+f.Name))
}

// Stats returns the progress of each service, sorted by name. It may be called at any time.
func (f *Forwarder) Stats() []Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Stats, 0, len(f.services))
	for _, s := range f.services {
		all = append(all, s.statsLocked())
	}
	slices.SortFunc(all, func(a, b Stats) int { return strings.Compare(a.Service, b.Service) })
	return all
}

func (f *Forwarder) setUp() {
	f.once.Do(func() {
		f.Name = cmp.Or(f.Name, "output")
		f.Records = cmp.Or(f.Records, 1000)
		f.Bytes = cmp.Or(f.Bytes, 1<<20)
		f.AtOnce = cmp.Or(f.AtOnce, 4)
		f.Interval = cmp.Or(f.Interval, 200*time.Millisecond)
		f.Timeout = cmp.Or(f.Timeout, 30*time.Second)
		f.RetryMin = cmp.Or(f.RetryMin, 200*time.Millisecond)
		f.RetryMax = cmp.Or(f.RetryMax, 30*time.Second)
		f.Logger = cmp.Or(f.Logger, slog.Default())
		f.calls = meanwhile.NewSemaphore(f.AtOnce)
		f.finished = make(chan struct{}, 1)
	})
}

// loadCursor reads how far each service was sent. A new cursor is written before anything is sent, so that one that begins at the newest record
// does so once, and not again after a crash.
func (f *Forwarder) loadCursor(ctx context.Context) error {
	next, err := readCursor(f.Cursor)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.services = make(map[string]*forwarded)
	for service, next := range next {
		f.services[service] = &forwarded{f: f, service: service, next: next}
	}
	f.mu.Unlock()
	if next != nil {
		return nil
	}
	if f.Newest {
		stored, err := f.Store.Services(ctx)
		if err != nil {
			return fmt.Errorf("forward to %s: %w", f.Name, err)
		}
		f.mu.Lock()
		for _, s := range stored {
			f.services[s.Service] = &forwarded{f: f, service: s.Service, next: s.Last + 1}
		}
		f.mu.Unlock()
	}
	return f.save()
}

// forward checks the store again and again, and runs a task for each service that has records to send.
func (f *Forwarder) forward(ctx context.Context) error {
	meanwhile.Every(ctx, time.Second, func(context.Context) error {
		if err := f.save(); err != nil {
			f.Logger.Error("logs: the cursor of a forwarder cannot be saved: after a crash, what is sent now is sent again", "output", f.Name, "error", err)
		}
		return nil
	}, meanwhile.Name("save cursor"))
	for logged := false; ; {
		appended := f.Store.Appended()
		stored, err := f.Store.Services(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, logs.ErrClosed):
			return fmt.Errorf("forward to %s: the store: %w", f.Name, err)
		case err != nil:
			if !logged {
				f.Logger.Error("logs: a forwarder cannot look into the store", "output", f.Name, "error", err)
			}
			logged = true
			appended = nil // after an error, only the interval is waited for
		default:
			logged = false
			f.startSenders(ctx, stored)
		}
		if err := meanwhile.Sleep(ctx, f.Interval); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		select {
		case <-appended:
		case <-f.finished:
		case <-ctx.Done():
		}
	}
}

// startSenders starts a task for each service that has records to send and no task yet.
func (f *Forwarder) startSenders(ctx context.Context, stored []storage.ServiceStats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := make(map[string]bool, len(stored))
	for _, stats := range stored {
		known[stats.Service] = true
		if !f.Filter.Service(stats.Service) {
			continue
		}
		s := f.services[stats.Service]
		if s == nil {
			s = &forwarded{f: f, service: stats.Service, next: 1}
			f.services[stats.Service] = s
		}
		s.stored = stats
		if !s.running && s.settleLocked() {
			s.running = true
			meanwhile.Go(ctx, s.run, meanwhile.Name("forward "+s.service))
		}
	}
	// A service that the store no longer knows has nothing left to send.
	maps.DeleteFunc(f.services, func(service string, s *forwarded) bool { return !known[service] && !s.running })
}
