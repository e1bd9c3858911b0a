package segment

import (
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Find yields the records that match, see [storage.Finder]. With a Limit it starts at the newest records, and reads little more than it
// needs. It has those blocks in memory that have records of the time it has reached, of about 1 MiB each, up to 64 MiB, and reads others
// ahead on all processors.
func (s *Store) Find(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if err := s.usable(); err != nil {
			yield(logs.Record{}, err)
			return
		}
		shelves := s.shelves(q.Filter.Service)
		defer releaseShelves(shelves)
		w := wants(q)
		if err := s.findAll(ctx, &w, shelves, q, yield); err != nil {
			yield(logs.Record{}, err)
		}
	}
}

func (s *Store) findAll(ctx context.Context, w *want, shelves []*shelf, q storage.Query, yield func(logs.Record, error) bool) error {
	if q.Limit <= 0 || q.Newest {
		n := 0
		return s.timeline(w, shelves, q.Newest).each(ctx, func(_ point, v *logs.View) bool {
			n++
			return yield(v.Record(), nil) && n != q.Limit
		})
	}
	if q.Limit > maxReversed {
		return s.findFrom(ctx, w, shelves, q.Limit, yield)
	}
	var found []logs.Record
	err := s.timeline(w, shelves, true).each(ctx, func(_ point, v *logs.View) bool {
		found = append(found, v.Record())
		return len(found) < q.Limit
	})
	for _, r := range slices.Backward(found) {
		if err != nil || !yield(r, nil) {
			break
		}
	}
	return err
}

// maxReversed is how many records are found from the newest on and reversed in memory. With more, the one they begin at is found
// first.
const maxReversed = 1000

func releaseShelves(shelves []*shelf) {
	for _, sh := range shelves {
		sh.back()
	}
}

// find yields the records on shelves in the order in which they came, of each service from its number in from on.
func (s *Store) find(ctx context.Context, w *want, shelves []*shelf, from map[*service]uint64, yield func(logs.Record, error) bool) error {
	cursors, views := make([]*cursor, len(shelves)), make(map[*journalFile]*window)
	for i, sh := range shelves {
		c := s.cursor(w, sh, from[sh.service], false)
		c.brief, c.views = len(shelves) > maxOpen, views
		cursors[i] = c
	}
	return merge(ctx, cursors, func(c *cursor) bool { return yield(c.view.Record(), nil) })
}

// maxOpen is how many files a search has open at a time.
const maxOpen = 64

// findFrom yields the newest limit records, the oldest of them first.
func (s *Store) findFrom(ctx context.Context, w *want, shelves []*shelf, limit int, yield func(logs.Record, error) bool) error {
	n := 0
	var oldest point
	err := s.timeline(w, shelves, true).each(ctx, func(p point, _ *logs.View) bool {
		n++
		oldest = p
		return n < limit
	})
	if err != nil || n == 0 {
		return err
	}
	from := *w
	from.since = max(from.since, oldest.time)
	return s.timeline(&from, shelves, false).each(ctx, func(p point, v *logs.View) bool {
		return p.compare(oldest) < 0 || yield(v.Record(), nil)
	})
}

// Read yields the records of a service from a number on, the oldest first, and ends after the newest. A call reads one block
// before it yields the first record.
func (s *Store) Read(ctx context.Context, name string, from uint64) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if err := s.usable(); err != nil {
			yield(logs.Record{}, err)
			return
		}
		s.mu.Lock()
		svc := s.services[name]
		if svc == nil || svc.kept < from {
			s.mu.Unlock()
			return
		}
		sh := s.shelf(svc)
		s.mu.Unlock()
		defer sh.back()
		w := wants(storage.Query{})
		if err := s.find(ctx, &w, []*shelf{sh}, map[*service]uint64{svc: from}, yield); err != nil {
			yield(logs.Record{}, err)
		}
	}
}
