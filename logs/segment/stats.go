package segment

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Services returns what is kept, by service, sorted by name. Services whose records were all deleted are included. Damage is
// counted since the store was opened.
func (s *Store) Services(ctx context.Context) ([]storage.ServiceStats, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, logs.ErrClosed
	}
	var all []storage.ServiceStats
	for _, svc := range s.services {
		if svc.kept > 0 || svc.damaged > 0 {
			all = append(all, s.stats(svc))
		}
	}
	slices.SortFunc(all, func(a, b storage.ServiceStats) int { return cmp.Compare(a.Service, b.Service) })
	return all, nil
}

// stats sums up one service. The caller holds s.mu.
func (s *Store) stats(svc *service) storage.ServiceStats {
	t := storage.ServiceStats{Service: svc.name, First: svc.kept + 1, Last: svc.kept, Segments: len(svc.segments), Damaged: svc.damaged}
	times := func(oldest, newest int64) {
		if a := time.Unix(0, oldest).UTC(); t.Records == 0 || a.Before(t.Oldest) {
			t.Oldest = a
		}
		if b := time.Unix(0, newest).UTC(); t.Records == 0 || b.After(t.Newest) {
			t.Newest = b
		}
	}
	for _, g := range svc.segments {
		times(g.min, g.max)
		t.Records += g.count
		t.Bytes += g.size
		t.Raw += g.raw
		t.First = min(t.First, g.first)
	}
	for _, j := range s.journals {
		h := j.services[svc]
		if h == nil {
			continue
		}
		times(h.min, h.max)
		t.Records += h.count
		t.Bytes += h.stored
		t.Raw += h.raw
		t.First = min(t.First, j.entries[h.index[0]].first)
	}
	t.Pruned = int64(t.First - 1)
	return t
}
