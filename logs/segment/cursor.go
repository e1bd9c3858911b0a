package segment

import (
	"errors"
	"io"
	"os"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A cursor iterates over the wanted records on a shelf, by their numbers, up or down. It reads a block when it reaches it, and not
// before.
type cursor struct {
	store *Store
	want  *want
	shelf *shelf
	down  bool
	brief bool                     // it has its file open only while it reads
	from  uint64                   // lowest number
	views map[*journalFile]*window // of all cursors of a search

	part    int // the next segment or journal, counted in the cursor's direction
	entries []entry
	may     []bool // of entries, by the index of words; nil: all
	index   []int32
	next    int // in entries or index
	file    io.ReaderAt
	closer  io.Closer
	path    string

	entry  *entry // the block it is at
	loaded bool
	stored []byte
	raw    []byte
	rest   []byte
	number uint64
	at     int      // where in raw the record begins
	starts []uint32 // of the records in raw, when it goes down
	read   int64    // bytes of blocks that were read
	sparse []uint64 // numbers of the records in raw, which are not all of the block
	picked bool     // raw has only wanted records

	view logs.View // the record it is at
	key  int64     // its time; of a block that is not loaded, the first time that its records may have in the cursor's direction
}

func (s *Store) cursor(w *want, sh *shelf, from uint64, down bool) *cursor {
	c := &cursor{store: s, want: w, shelf: sh, down: down, from: from}
	c.view.Service = []byte(sh.service.name)
	return c
}

// close ends the cursor; it may be called more than once.
func (c *cursor) close() {
	if c.closer != nil {
		_ = c.closer.Close()
		c.closer = nil
	}
}

// nextBlock goes to the next block that may have wanted records, without reading it, and reports whether there is one.
func (c *cursor) nextBlock() (bool, error) {
	for {
		for c.next < c.length() {
			i := c.next
			if c.next++; c.down {
				i = c.length() - c.next
			}
			e := c.candidate(i)
			if e == nil {
				continue
			}
			c.entry, c.loaded, c.key = e, false, e.min
			if c.down {
				c.key = e.max
			}
			return true, nil
		}
		if ok, err := c.nextPart(); !ok || err != nil {
			c.entry = nil
			return false, err
		}
	}
}

// candidate returns one of the blocks of the part that is open, nil when it cannot have wanted records.
func (c *cursor) candidate(i int) *entry {
	if c.index != nil {
		i = int(c.index[i])
	}
	e := &c.entries[i]
	top, bottom := levels(e.levels)
	if c.may != nil && !c.may[i] || e.last() < c.from || e.first > c.shelf.until || !c.want.block(e.min, e.max, top, bottom) {
		return nil
	}
	return e
}

func (c *cursor) length() int {
	if c.index != nil {
		return len(c.index)
	}
	return len(c.entries)
}

// nextPart opens the next segment or journal that may have wanted records.
func (c *cursor) nextPart() (bool, error) {
	c.close()
	segments, journals := c.shelf.segments, c.shelf.journals
	for c.part < len(segments)+len(journals) {
		i := c.part
		if c.part++; c.down {
			i = len(segments) + len(journals) - c.part
		}
		c.entries, c.index, c.may, c.next = nil, nil, nil, 0
		if i >= len(segments) {
			p := &journals[i-len(segments)]
			if c.want.block(p.holding.min, p.holding.max, c.want.least, c.want.most) {
				if c.views == nil {
					c.views = make(map[*journalFile]*window)
				}
				if c.views[p.journal] == nil {
					c.views[p.journal] = &window{file: p.journal, back: c.down}
				}
				c.entries, c.index, c.file, c.path = p.entries, p.holding.index, c.views[p.journal], p.journal.Path()
				return true, nil
			}
			continue
		}
		g := segments[i]
		top, bottom := levels(g.levels)
		if g.until < c.from || g.first > c.shelf.until || !c.want.block(g.min, g.max, top, bottom) {
			continue
		}
		if ok, err := c.openSegment(g); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// openSegment reads the table of a segment, and its index if that can help. It leaves out a damaged segment.
func (c *cursor) openSegment(g *segment) (bool, error) {
	f, err := os.Open(g.path)
	if err != nil {
		return false, err
	}
	c.file, c.closer, c.path = f, f, g.path
	if c.entries, err = g.readTable(f); errors.Is(err, errDamaged) {
		c.store.damage(c.shelf.service, g.path, g.table, g.size)
		c.entries = nil
		return false, nil
	} else if err != nil {
		return false, err
	}
	if len(c.want.tokens) > 0 {
		if c.may, err = g.candidates(f, c.want.tokens); errors.Is(err, errDamaged) {
			c.store.damage(c.shelf.service, g.path, g.table+1, g.row())
		} else if err != nil {
			return false, err
		}
	}
	if c.brief {
		c.close()
		c.file = nil
	}
	return true, nil
}

// load reads the block that the cursor is at. A damaged block has no records.
func (c *cursor) load() error {
	e := c.entry
	c.loaded, c.rest, c.number, c.starts, c.picked = true, nil, e.first, c.starts[:0], false
	c.read += int64(e.raw)
	done, err := c.reopen()
	if err != nil {
		return err
	}
	defer done()
	if e.head > 0 {
		err = c.pick()
	} else if c.stored, err = e.read(c.file, c.stored); err == nil {
		c.raw, err = e.codec.expand(c.raw, c.stored, e.raw)
	}
	if errors.Is(err, errDamaged) {
		c.store.damage(c.shelf.service, c.path, e.off, int64(e.stored))
		return nil
	} else if err != nil {
		return err
	}
	c.rest = c.raw
	if c.down {
		for v, rest := (logs.View{}), c.raw; len(rest) > 0; {
			at := len(c.raw) - len(rest)
			if rest, err = v.Next(rest); err != nil {
				c.store.damage(c.shelf.service, c.path, e.off, int64(len(c.raw)-at))
				break
			}
			c.starts = append(c.starts, uint32(at))
		}
		c.number += uint64(len(c.starts))
	}
	return nil
}

// nextRecord goes to the next wanted record of the block that was loaded, and reports whether there is one.
func (c *cursor) nextRecord() bool {
	for {
		if !c.step() {
			return false
		}
		if !c.picked && (c.view.Number < c.from || c.view.Number > c.shelf.until || !c.want.record(&c.view)) {
			continue
		}
		c.key = c.view.Time
		return true
	}
}

// reopen opens the file of the cursor until done is called, unless it is open already.
func (c *cursor) reopen() (done func(), err error) {
	if c.file != nil {
		return func() {}, nil
	}
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	c.file = f
	return func() {
		_ = f.Close()
		c.file = nil
	}, nil
}

// pick reads only the wanted records of a block with columns.
func (c *cursor) pick() error {
	c.picked, c.raw, c.sparse = true, c.raw[:0], c.sparse[:0]
	return c.columns(func(r *columnReader, rows filter.Rows) (err error) {
		c.raw, c.sparse, err = r.records(c.raw, c.sparse, rows)
		return err
	})
}

// columns calls fn with the columns of the block that the cursor is at, and with its wanted records, unless there are none.
func (c *cursor) columns(fn func(r *columnReader, rows filter.Rows) error) error {
	done, err := c.reopen()
	if err != nil {
		return err
	}
	defer done()
	r, err := openColumns(c.file, c.entry, c.view.Service)
	if err != nil {
		return err
	}
	defer r.close()
	rows, err := r.wanted(c.want, c.from, c.shelf.until)
	if err != nil || !rows.Any() {
		return err
	}
	return fn(r, rows)
}

func (c *cursor) step() bool {
	if c.down {
		if len(c.starts) == 0 {
			return false
		}
		at := c.starts[len(c.starts)-1]
		c.starts = c.starts[:len(c.starts)-1]
		c.number--
		if c.view.Number = c.number; c.picked {
			c.view.Number = c.sparse[len(c.starts)]
		}
		_, err := c.view.Next(c.raw[at:])
		return err == nil
	}
	if len(c.rest) == 0 {
		return false
	}
	c.at = len(c.raw) - len(c.rest)
	rest, err := c.view.Next(c.rest)
	if err != nil {
		c.store.damage(c.shelf.service, c.path, c.entry.off, int64(len(c.rest)))
		c.rest = nil
		return false
	}
	if c.view.Number = c.number; c.picked {
		c.view.Number = c.sparse[c.number-c.entry.first]
	}
	c.rest, c.number = rest, c.number+1
	return true
}

// forward goes to the next wanted record, or to the next block that may have one; at the end, entry is nil.
func (c *cursor) forward() error {
	if c.entry != nil && c.loaded && c.nextRecord() {
		return nil
	}
	_, err := c.nextBlock()
	return err
}
