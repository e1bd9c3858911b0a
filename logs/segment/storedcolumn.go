package segment

import (
	"encoding/binary"
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A storedColumn is a column that can be read.
type storedColumn struct {
	reader *columnReader
	packing
	role        byte
	key         []byte
	kind        slog.Kind
	prefix      []byte // key as it is encoded before a value
	count       int
	codec       codec
	off         int64 // in the file
	stored, raw uint32
	crc         uint32

	loaded  bool
	placed  bool
	payload []byte
	texts   []byte // the texts that payload has in packed form
	values  filter.Values
	rows    []int32
	next    int // of values or few, see valueOf
	sparse  bool
	few     []logs.AttrValue // of the records that are wanted, see loadFor
	spans   []uint64         // of these in the payload, where each begins and ends
}

// readLine parses the column's line of the head. i is the index of the column.
func (c *storedColumn) readLine(b *reader, i int) bool {
	c.loaded, c.placed, c.sparse, c.next = false, false, false, 0
	c.packing = packing{unit: 1}
	c.role = b.byte()
	c.key, c.kind = nil, slog.KindInt64
	if i < roleAttr && c.role != byte(i) || i >= roleAttr && c.role != roleAttr {
		return false
	}
	if c.role == roleAttr {
		c.key = b.bytes(b.uvarint())
		ok := false
		if c.kind, ok = kindOf(b.byte()); !ok {
			return false
		}
		c.prefix = append(binary.AppendUvarint(c.prefix[:0], uint64(len(c.key))), c.key...)
	}
	count := b.uvarint()
	c.form, c.codec = b.byte(), codec(b.byte())
	stored, raw := b.uvarint(), b.uvarint()
	c.crc = b.uint32()
	if !c.isText() {
		c.packing.read(b)
	}
	if !b.ok || count == 0 || count > uint64(c.reader.entry.count) || c.role < roleAttr && count != uint64(c.reader.entry.count) || stored > 2*maxRaw || raw > maxRaw {
		return false
	}
	c.count, c.stored, c.raw = int(count), uint32(stored), uint32(raw)
	return true
}

func (c *storedColumn) isText() bool {
	return c.role == roleMessage || c.role == roleTask || c.role == roleJob || c.role == roleAttr && (c.kind == slog.KindString || c.kind == slog.KindAny)
}

// fetch reads the payload.
func (c *storedColumn) fetch() (err error) {
	r := c.reader
	if r.stored, err = readPart(r.file, r.stored, c.off, c.stored, c.crc); err != nil {
		return err
	}
	c.payload, err = c.codec.expand(c.payload, r.stored, c.raw)
	return err
}

// load reads the values.
func (c *storedColumn) load() error {
	if c.loaded {
		return nil
	}
	if err := c.fetch(); err != nil {
		return err
	}
	if c.isText() && !c.unpackTexts() || !c.isText() && !c.unpackNumbers() {
		return errDamaged
	}
	c.loaded = true
	return nil
}

func (c *storedColumn) unpackNumbers() bool {
	v := &c.values
	value := func(n int64) logs.AttrValue { return logs.BitsValue(c.kind, uint64(n)) }
	v.IDs = nil
	switch c.form {
	case formConst:
		v.All = append(v.All[:0], value(c.least))
		v.IDs = zeros(c.count)
		return len(c.payload) == 0
	case formDict:
		b := reader{b: c.payload, ok: true}
		n := b.uvarint()
		if n == 0 || n > maxDict {
			return false
		}
		v.All = v.All[:0]
		for range n {
			v.All = append(v.All, value(b.varint()))
		}
		return b.ok && setIDs(v, b.b, c.count)
	}
	var ok bool
	r := c.reader
	if r.numbers, ok = c.unpack(r.numbers, c.payload, c.count); !ok {
		return false
	}
	v.All = slices.Grow(v.All[:0], c.count)[:c.count]
	for i, n := range r.numbers {
		v.All[i] = value(n)
	}
	return true
}

func setIDs(v *filter.Values, ids []byte, count int) bool {
	v.IDs = ids
	for _, id := range ids {
		if int(id) >= len(v.All) {
			return false
		}
	}
	return len(ids) == count
}

// zeros returns n ids, all of the first value.
func zeros(n int) []uint8 {
	if n <= len(noIDs) {
		return noIDs[:n]
	}
	return make([]uint8, n)
}

var noIDs [16 << 10]uint8

// Bounds implements [filter.Column].
func (c *storedColumn) Bounds() (least, most logs.AttrValue, ok bool) {
	switch c.kind {
	case slog.KindInt64, slog.KindDuration, slog.KindTime:
	case slog.KindUint64:
		if c.least < 0 { // some are above the largest signed number, so that these are no bounds
			return least, most, false
		}
	default:
		return least, most, false
	}
	return logs.BitsValue(c.kind, uint64(c.least)), logs.BitsValue(c.kind, uint64(c.most)), true
}

// Values implements [filter.Column].
func (c *storedColumn) Values() (filter.Values, error) {
	if err := c.load(); err != nil {
		return filter.Values{}, err
	}
	if err := c.findRows(); err != nil {
		return filter.Values{}, err
	}
	return c.values, nil
}

// findRows determines which records have a value.
func (c *storedColumn) findRows() error {
	if c.placed {
		return nil
	}
	c.values.Rows = nil
	r := c.reader
	if c.role == roleAttr {
		at := uint16(c.index())
		has := make([]bool, len(r.shapes))
		all := true
		for i, shape := range r.shapes {
			n := 0
			for _, x := range shape {
				if x == at {
					n++
				}
			}
			if n > 1 {
				return errDamaged
			}
			has[i] = n == 1
			all = all && has[i]
		}
		if !all {
			rows, err := r.rowsOf(has, c.rows)
			if err != nil {
				return err
			}
			c.rows, c.values.Rows = rows, rows
			if len(rows) != c.count {
				return errDamaged
			}
		} else if c.count != int(r.entry.count) {
			return errDamaged
		}
	}
	c.placed = true
	return nil
}

// index returns the index of the column among those of attributes.
func (c *storedColumn) index() int {
	for i := range c.reader.columns[roleAttr:] {
		if &c.reader.columns[roleAttr+i] == c {
			return i
		}
	}
	return -1
}

// at returns the value of a record in a column of all records.
func at(v *filter.Values, row int) *logs.AttrValue {
	if v.IDs != nil {
		row = int(v.IDs[row])
	}
	return &v.All[row]
}

// valueOf returns the value of a record, or nil if it has none. It is called with ascending records.
func (c *storedColumn) valueOf(row int) *logs.AttrValue {
	if c.sparse {
		if c.next == len(c.few) {
			return nil
		}
		c.next++
		return &c.few[c.next-1]
	}
	v := &c.values
	if v.Rows == nil {
		return at(v, row)
	}
	for c.next < len(v.Rows) && int(v.Rows[c.next]) < row {
		c.next++
	}
	if c.next == len(v.Rows) || int(v.Rows[c.next]) != row {
		return nil
	}
	return at(v, c.next)
}
