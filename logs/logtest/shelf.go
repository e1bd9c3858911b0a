package logtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Shelf is a store in memory, with what a [forward.Forwarder] needs of it.
type Shelf struct {
	storage.Store
	mu       sync.Mutex
	services map[string][]logs.Record
	pruned   map[string]uint64
	appended chan struct{}
	broken   error
}

// NewShelf returns an empty Shelf.
func NewShelf() *Shelf {
	return &Shelf{services: map[string][]logs.Record{}, pruned: map[string]uint64{}, appended: make(chan struct{})}
}

// Add stores n records of a service.
func (s *Shelf) Add(service string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		number := uint64(len(s.services[service]) + 1)
		s.services[service] = append(s.services[service], logs.Record{
			Time: time.Now().UTC(), Service: service, Message: fmt.Sprintf("%s %d", service, number), Number: number,
		})
	}
	close(s.appended)
	s.appended = make(chan struct{})
}

// Prune deletes the records of a service up to a number.
func (s *Shelf) Prune(service string, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned[service] = upTo
}

// Break makes all methods fail with an error; nil ends that.
func (s *Shelf) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Appended implements [storage.Store].
func (s *Shelf) Appended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appended
}

// Services implements [storage.Store].
func (s *Shelf) Services(context.Context) (all []storage.ServiceStats, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, service := range slices.Sorted(maps.Keys(s.services)) {
		last, pruned := uint64(len(s.services[service])), s.pruned[service]
		stats := storage.ServiceStats{Service: service, Records: int64(last - pruned), Last: last}
		if stats.Records > 0 {
			stats.First = pruned + 1
		}
		all = append(all, stats)
	}
	return all, s.broken
}

// Read implements [storage.Store].
func (s *Shelf) Read(_ context.Context, service string, from uint64) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		s.mu.Lock()
		all, pruned, err := s.services[service], s.pruned[service], s.broken
		s.mu.Unlock()
		if err != nil {
			yield(logs.Record{}, err)
			return
		}
		for _, r := range all[min(uint64(len(all)), max(from-1, pruned)):] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Records returns all records that were ever added to a service.
func (s *Shelf) Records(service string) []logs.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.services[service])
}
