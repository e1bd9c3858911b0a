package segment

import (
	"cmp"
	"math"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A holding is what a journal has of one service. It is guarded by Store.mu; a search has a copy.
type holding struct {
	index    []int32 // of the journal's entries
	count    int64
	raw      int64
	stored   int64
	min, max int64
}

func (h *holding) add(i int, e *entry) {
	if len(h.index) == 0 {
		h.min, h.max = e.min, e.max
	}
	h.index = append(h.index, int32(i))
	h.count += int64(e.count)
	h.raw += int64(e.raw)
	h.stored += int64(e.stored)
	h.min, h.max = min(h.min, e.min), max(h.max, e.max)
}

// A shelf is a snapshot of what there is of one service. Its files are not deleted until it is released by back.
type shelf struct {
	service  *service
	until    uint64 // number of the last record
	segments []*segment
	journals []journalPart
}

type journalPart struct {
	journal *journalFile
	entries []entry
	holding holding
}

// shelves returns the shelves of the services that match, sorted by name. The caller releases them.
func (s *Store) shelves(match func(name string) bool) []*shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*shelf
	for _, svc := range s.services {
		if match(svc.name) {
			all = append(all, s.shelf(svc))
		}
	}
	slices.SortFunc(all, func(a, b *shelf) int { return cmp.Compare(a.service.name, b.service.name) })
	return all
}

// shelf returns the shelf of one service. The caller holds s.mu.
func (s *Store) shelf(svc *service) *shelf {
	sh := &shelf{service: svc, until: svc.kept, segments: svc.segments}
	for _, g := range sh.segments {
		g.uses.Add(1)
	}
	for _, j := range s.journals {
		if h := j.services[svc]; h != nil {
			j.Use()
			sh.journals = append(sh.journals, journalPart{j, j.entries, *h})
		}
	}
	return sh
}

// back releases the shelf.
func (sh *shelf) back() {
	for _, g := range sh.segments {
		g.release()
	}
	for _, p := range sh.journals {
		p.journal.Release()
	}
}

// A want is a query, prepared for matching.
type want struct {
	filter       filter.Filter
	all          bool // all records match, except for the time
	tokens       []uint64
	least, most  int64 // levels
	since, until int64 // the last nanosecond that counts
}

func wants(q storage.Query) want {
	w := want{filter: q.Filter, all: q.Filter.String() == "", tokens: q.Filter.Tokens()}
	least, most := q.Filter.Levels()
	w.least, w.most = int64(least), int64(most)
	w.since, w.until = q.Filter.Times()
	if !q.Since.IsZero() {
		w.since = max(w.since, nanoseconds(q.Since))
	}
	if !q.Until.IsZero() {
		w.until = min(w.until, before(nanoseconds(q.Until)))
	}
	return w
}

// block reports whether records with times and levels in these ranges can match.
func (w *want) block(least, most int64, top, bottom int64) bool {
	return most >= w.since && least <= w.until && top >= w.least && bottom <= w.most
}

func (w *want) record(v *logs.View) bool {
	return v.Time >= w.since && v.Time <= w.until && (w.all || w.filter.Match(v))
}

// levels returns the highest and the lowest level that there may be, given the number of records of each class.
func levels[T uint32 | int64](counts [4]T) (top, bottom int64) {
	if counts == [4]T{} {
		return math.MaxInt64, math.MinInt64
	}
	top, bottom = math.MinInt64, math.MaxInt64
	for class, n := range counts {
		if n == 0 {
			continue
		}
		bottom = min(bottom, int64(classes[class]))
		if top = math.MaxInt64; class < 3 {
			top = int64(classes[class+1]) - 1
		}
	}
	return top, bottom
}
