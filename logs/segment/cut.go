package segment

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/meanwhile-go/meanwhile"
)

// cut yields the records of a service in a journal, in blocks. Damaged entries are left out.
func (s *Store) cut(j *journalFile, svc *service) meanwhile.Stream[*block] {
	return func(yield func(*block, error) bool) {
		c := cutter{yield: yield, size: s.blockBytes}
		file := &window{file: j}
		var buf []byte
		for _, i := range j.services[svc].index {
			e := &j.entries[i]
			data, err := e.read(file, buf)
			if errors.Is(err, errDamaged) {
				s.damage(svc, j.Path(), e.off, int64(e.stored))
				continue
			} else if err != nil {
				yield(nil, err)
				return
			}
			buf = data
			if !c.add(e.first, data) {
				return
			}
		}
		c.end()
	}
}

// recut yields the records of segments that follow each other, in blocks.
func (s *Store) recut(segments []*segment) meanwhile.Stream[*block] {
	return func(yield func(*block, error) bool) {
		c := cutter{yield: yield, size: s.blockBytes}
		for _, g := range segments {
			if err := g.each(c.add); err != nil {
				if !errors.Is(err, errLeft) {
					yield(nil, err)
				}
				return
			}
		}
		c.end()
	}
}

// each calls add with the number of the first record and the records of each block. When add returns false, it returns
// errLeft.
func (g *segment) each(add func(first uint64, data []byte) bool) error {
	f, err := os.Open(g.path)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := g.readTable(f)
	if err != nil {
		return err
	}
	var stored, raw []byte
	for i := range entries {
		e := &entries[i]
		if stored, raw, err = e.readRecords(f, stored, raw); err != nil {
			return err
		}
		if !add(e.first, raw) {
			return errLeft
		}
	}
	return nil
}

// A cutter puts records into blocks. A block has records whose numbers follow each other.
type cutter struct {
	yield func(*block, error) bool
	size  int // of a block, give or take a record
	b     *block
}

// add adds encoded records, numbered from number on, and reports whether more are wanted.
func (c *cutter) add(number uint64, data []byte) bool {
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) { // nobody wrote that
			c.yield(nil, errDamaged)
			return false
		}
		n += int(size)
		if c.b != nil && (len(c.b.data)+n > c.size || c.b.until+1 != number) {
			if !c.yield(c.b, nil) {
				return false
			}
			c.b = nil
		}
		if c.b == nil {
			c.b = newBlock()
			c.b.first = number
		}
		c.b.data = append(c.b.data, data[:n]...)
		c.b.count++
		c.b.until = number
		number++
		data = data[n:]
	}
	return true
}

func (c *cutter) end() {
	if c.b != nil {
		c.yield(c.b, nil)
	}
}
