package remote

import (
	"context"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A shelf is a simple finder in memory.
type shelf struct {
	mu      sync.Mutex
	records []logs.Record
	changed chan struct{}
	missed  error // the error that a follow yields first
}

func newShelf() *shelf { return &shelf{changed: make(chan struct{})} }

// add numbers and keeps records.
func (s *shelf) add(records ...logs.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		r.Number = s.last(r.Service) + 1
		s.records = append(s.records, r)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *shelf) last(service string) (n uint64) {
	for _, r := range s.records {
		if r.Service == service {
			n = r.Number
		}
	}
	return n
}

func (s *shelf) all() ([]logs.Record, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records), s.changed
}

func (s *shelf) Find(_ context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		records, _ := s.all()
		records = slices.DeleteFunc(records, func(r logs.Record) bool {
			v := r.View()
			return !q.Filter.Match(&v) || !q.Since.IsZero() && r.Time.Before(q.Since) || !q.Until.IsZero() && !r.Time.Before(q.Until)
		})
		if q.Limit > 0 && len(records) > q.Limit {
			records = records[len(records)-q.Limit:]
		}
		if q.Newest {
			slices.Reverse(records)
		}
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *shelf) Follow(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if s.missed != nil && !yield(logs.Record{}, s.missed) {
			return
		}
		begin, _ := s.all()
		seen := make(map[string]uint64)
		for _, r := range begin {
			seen[r.Service] = r.Number
		}
		for service, n := range q.After {
			seen[service] = n
		}
		for {
			records, changed := s.all()
			for _, r := range records {
				v := r.View()
				if r.Number > seen[r.Service] && q.Filter.Match(&v) && !yield(r, nil) {
					return
				}
				seen[r.Service] = max(seen[r.Service], r.Number)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(logs.Record{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (s *shelf) Histogram(_ context.Context, q storage.Query, n int) (storage.Histogram, error) {
	return storage.Histogram{Since: q.Since, Until: q.Until, Buckets: make([]storage.Bucket, n), Partial: true}, nil
}

func (s *shelf) Services(context.Context) ([]storage.ServiceStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var services []storage.ServiceStats
	for _, r := range s.records {
		if i := slices.IndexFunc(services, func(have storage.ServiceStats) bool { return have.Service == r.Service }); i >= 0 {
			services[i].Records++
			services[i].Last = r.Number
		} else {
			services = append(services, storage.ServiceStats{Service: r.Service, Records: 1, First: 1, Last: 1, Oldest: r.Time})
		}
	}
	return services, nil
}
