package segment

import (
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Find yields the records that match, see [logs.Finder]. With a Limit it reads from the newest end, and no further than it
// needs. It has a block of each service in memory, of a quarter of a megabyte, when it has come to it.
func (s *Store) Find(ctx context.Context, q logs.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if err := s.usable(); err != nil {
			yield(logs.Record{}, err)
			return
		}
		shelves := s.shelves(q.Filter.Service)
		defer putBack(shelves)
		w := wants(q)
		var err error
		switch {
		case q.Limit <= 0 || q.Newest:
			err = s.find(ctx, &w, shelves, nil, q.Newest, q.Limit, yield)
		case q.Limit <= maxTurned:
			var found []logs.Record
			err = s.find(ctx, &w, shelves, nil, true, q.Limit, func(r logs.Record, _ error) bool {
				found = append(found, r)
				return true
			})
			for _, r := range slices.Backward(found) {
				if err != nil || !yield(r, nil) {
					break
				}
			}
		default:
			err = s.findFrom(ctx, &w, shelves, q.Limit, yield)
		}
		if err != nil {
			yield(logs.Record{}, err)
		}
	}
}

// maxTurned is how many records are found from the newest on and turned in memory. With more, the numbers they begin at
// are found first.
const maxTurned = 1000

func putBack(shelves []*shelf) {
	for _, sh := range shelves {
		sh.back()
	}
}

// find yields the records on shelves, of each service from its number in from on, at most limit if that is not zero.
func (s *Store) find(ctx context.Context, w *want, shelves []*shelf, from map[*service]uint64, down bool, limit int, yield func(logs.Record, error) bool) error {
	n := 0
	return merge(ctx, s.cursors(w, shelves, from, down), down, func(c *cursor) bool {
		n++
		return yield(c.view.Record(), nil) && n != limit
	})
}

func (s *Store) cursors(w *want, shelves []*shelf, from map[*service]uint64, down bool) []*cursor {
	cursors, views := make([]*cursor, len(shelves)), make(map[*journal]*window)
	for i, sh := range shelves {
		c := s.cursor(w, sh, from[sh.service], down)
		c.brief, c.views = len(shelves) > maxOpen, views
		cursors[i] = c
	}
	return cursors
}

// maxOpen is of how many services a search has a file of each open.
const maxOpen = 64

// findFrom yields the newest limit records, the oldest of them first.
func (s *Store) findFrom(ctx context.Context, w *want, shelves []*shelf, limit int, yield func(logs.Record, error) bool) error {
	from := make(map[*service]uint64)
	n := 0
	err := merge(ctx, s.cursors(w, shelves, nil, true), true, func(c *cursor) bool {
		n++
		from[c.shelf.service] = c.view.Number
		return n < limit
	})
	if err != nil {
		return err
	}
	var some []*shelf
	for _, sh := range shelves {
		if from[sh.service] > 0 {
			some = append(some, sh)
		}
	}
	return s.find(ctx, w, some, from, false, limit, yield)
}

// Read yields the records of a service from a number on, the oldest first, and ends after the newest. A call costs the
// reading of one block until the first record.
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
		w := wants(logs.Query{})
		if err := s.find(ctx, &w, []*shelf{sh}, map[*service]uint64{svc: from}, false, 0, yield); err != nil {
			yield(logs.Record{}, err)
		}
	}
}
