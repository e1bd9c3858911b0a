package segment

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A timeline iterates over the wanted records on shelves in the order of their times, or in reverse. A service stores its records in the
// order in which they came, which differs from that if a client has sent the records of its spool.
//
// A segment or a journal is opened when its first time is reached, and its blocks are read likewise, some of them ahead, on all
// processors. So a block is in memory from its oldest record to its newest one.
type timeline struct {
	store *Store
	want  *want
	down  bool

	waiting pieces // parts that are not open, and blocks that are not read
	read    pieces
	opened  []*cursor
	bytes   int // of read
}

// mostRead is how many bytes of blocks a timeline has in memory. If more blocks overlap in time, records that were stored that far apart
// may be yielded out of order.
const mostRead = 64 << 20

// A point is the position of a record on a timeline.
type point struct {
	time    int64
	service int // of the shelves
	number  uint64
}

func (p point) compare(other point) int {
	return cmp.Or(cmp.Compare(p.time, other.time), cmp.Compare(p.service, other.service), cmp.Compare(p.number, other.number))
}

// A piece is first a part of a shelf, then a block of it, and then the wanted records of the block.
type piece struct {
	point          // none of its records comes before it in the direction of the timeline
	cursor *cursor // of the part
	blocks []*entry
	err    error
	raw    []byte
	found  []foundRecord // those that were not yielded yet
}

type foundRecord struct {
	point
	at uint32 // in raw
}

// pieces is a heap.
type pieces struct {
	all  []*piece
	down bool
}

func (p *pieces) Len() int           { return len(p.all) }
func (p *pieces) Swap(i, j int)      { p.all[i], p.all[j] = p.all[j], p.all[i] }
func (p *pieces) Push(x any)         { p.all = append(p.all, x.(*piece)) }
func (p *pieces) Less(i, j int) bool { return comesFirst(p.all[i].point, p.all[j].point, p.down) }

func (p *pieces) Pop() any {
	last := len(p.all) - 1
	x := p.all[last]
	p.all[last], p.all = nil, p.all[:last]
	return x
}

func comesFirst(a, b point, down bool) bool {
	if down {
		a, b = b, a
	}
	return a.compare(b) < 0
}

func (s *Store) timeline(w *want, shelves []*shelf, down bool) *timeline {
	t := &timeline{store: s, want: w, down: down, waiting: pieces{down: down}, read: pieces{down: down}}
	for i, sh := range shelves {
		for _, g := range sh.segments {
			t.add(i, &shelf{service: sh.service, until: sh.until, segments: []*segment{g}}, g.min, g.max)
		}
		for _, p := range sh.journals {
			t.add(i, &shelf{service: sh.service, until: sh.until, journals: []journalPart{p}}, p.holding.min, p.holding.max)
		}
	}
	return t
}

// add adds a part of a service, with records between two times.
func (t *timeline) add(service int, part *shelf, least, most int64) {
	c := t.store.cursor(t.want, part, 0, false)
	p := &piece{point: point{least, service, 0}, cursor: c}
	if t.down {
		p.point = point{most, service, math.MaxUint64}
	}
	heap.Push(&t.waiting, p)
}

// each calls fn with one record after the other, until it returns false.
func (t *timeline) each(ctx context.Context, fn func(p point, v *logs.View) bool) error {
	defer func() {
		for _, c := range t.opened {
			c.close()
		}
	}()
	for p, err := range meanwhile.Map(ctx, t.blocks, t.load, meanwhile.Limit(runtime.GOMAXPROCS(0))) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case p.err != nil:
			return p.err
		}
		if more, err := t.emit(func(next point) bool { return comesFirst(next, p.point, t.down) }, fn); !more {
			return err
		}
		if len(p.found) > 0 {
			p.point = p.found[0].point
			t.bytes += len(p.raw)
			heap.Push(&t.read, p)
		}
		if more, err := t.emit(func(point) bool { return t.bytes > mostRead }, fn); !more {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := t.emit(func(point) bool { return true }, fn)
	return err
}

// emit calls fn with the next records that are read, while that is due. It reports whether to continue, which is false after an error.
func (t *timeline) emit(due func(next point) bool, fn func(p point, v *logs.View) bool) (more bool, err error) {
	var v logs.View
	for t.read.Len() > 0 && due(t.read.all[0].point) {
		p := t.read.all[0]
		r := p.found[0]
		v.Service, v.Number = p.cursor.view.Service, r.number
		if _, err := v.Next(p.raw[r.at:]); err != nil {
			return false, err
		}
		if !fn(r.point, &v) {
			return false, nil
		}
		if p.found = p.found[1:]; len(p.found) > 0 {
			p.point = p.found[0].point
			heap.Fix(&t.read, 0)
			continue
		}
		t.bytes -= len(p.raw)
		heap.Pop(&t.read)
	}
	return true, nil
}

// blocks yields the pieces that may have wanted records, in the order of their first points.
func (t *timeline) blocks(yield func(*piece, error) bool) {
	for t.waiting.Len() > 0 {
		p := heap.Pop(&t.waiting).(*piece)
		if p.blocks == nil {
			if err := t.open(p); err != nil {
				yield(nil, err)
				return
			}
		} else if !yield(p, nil) {
			return
		}
	}
}

// open opens a part, and replaces it in waiting by its blocks. Small blocks that are next to each other become one piece.
func (t *timeline) open(part *piece) error {
	c := part.cursor
	c.brief = len(t.opened) >= maxOpen/2 // further files are open only while they are read
	if ok, err := c.nextPart(); !ok || err != nil {
		return err
	}
	if c.closer != nil {
		t.opened = append(t.opened, c)
	}
	var p *piece
	space := 0
	for i := range c.length() {
		e := c.candidate(i)
		if e == nil {
			continue
		}
		first, last := point{e.min, part.service, e.first}, point{e.max, part.service, e.last()}
		if t.down {
			first = last
		}
		if space -= int(e.raw); p == nil || space < 0 {
			p, space = &piece{point: first, cursor: c}, blockBytes-int(e.raw)
			t.waiting.all = append(t.waiting.all, p)
		}
		if p.blocks = append(p.blocks, e); comesFirst(first, p.point, t.down) {
			p.point = first
		}
	}
	heap.Init(&t.waiting)
	return nil
}

// load reads blocks, and looks for the wanted records in them.
func (t *timeline) load(_ context.Context, p *piece) (*piece, error) {
	c := *p.cursor // several blocks of a part are read at once
	if len(c.shelf.journals) > 0 {
		c.file = &window{file: c.shelf.journals[0].journal}
	}
	for _, e := range p.blocks {
		c.entry = e
		if p.err = c.load(); p.err != nil {
			return p, nil
		}
		base := len(p.raw)
		for c.nextRecord() {
			p.found = append(p.found, foundRecord{point{c.view.Time, p.service, c.view.Number}, uint32(base + c.at)})
		}
		if len(p.blocks) == 1 {
			p.raw = c.raw
		} else if len(p.found) > 0 {
			p.raw = append(p.raw, c.raw...)
		}
	}
	order := func(a, b foundRecord) int { return a.compare(b.point) }
	if !slices.IsSortedFunc(p.found, order) {
		slices.SortFunc(p.found, order)
	}
	if t.down {
		slices.Reverse(p.found)
	}
	return p, nil
}
