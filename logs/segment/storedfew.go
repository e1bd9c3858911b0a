package segment

import (
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// loadFor prepares the column for valueOf of some records. If these are few, it extracts only their values from the payload.
func (c *storedColumn) loadFor(of filter.Rows) error {
	c.next, c.sparse = 0, false
	n := of.Count()
	if !c.loaded && n*8 < c.count && c.canTakeFew() {
		if err := c.findRows(); err != nil {
			return err
		}
		if err := c.fetch(); err != nil {
			return err
		}
		if !c.takeFew(c.indexes(of)) {
			return errDamaged
		}
		c.sparse = true
		return nil
	}
	if err := c.load(); err != nil {
		return err
	}
	return c.findRows()
}

// canTakeFew reports whether a value of the column can be read without the others.
func (c *storedColumn) canTakeFew() bool {
	if c.role == roleShape {
		return false // findRows of other columns reads all of it
	}
	return c.form == formPlain || c.form == formFixed || c.form == formHex
}

// indexes returns which values of the column are those of some records, ascending.
func (c *storedColumn) indexes(of filter.Rows) []int32 {
	some := c.reader.indexes[:0]
	if c.values.Rows == nil {
		for row := range of.Each {
			some = append(some, int32(row))
		}
	} else {
		for i, row := range c.values.Rows {
			if of.Has(int(row)) {
				some = append(some, int32(i))
			}
		}
	}
	c.reader.indexes = some
	return some
}

// takeFew extracts some values from the payload.
func (c *storedColumn) takeFew(some []int32) bool {
	c.few = c.few[:0]
	isJSON := c.kind == slog.KindAny && c.role == roleAttr
	switch {
	case !c.isText():
		n, w := c.count, int(c.width)
		if w > 8 || len(c.payload) != n*w {
			return false
		}
		for _, i := range some {
			var x uint64
			for k := range w {
				x |= uint64(c.payload[k*n+int(i)]) << (8 * k)
			}
			c.few = append(c.few, logs.BitsValue(c.kind, x*c.unit+uint64(c.base)))
		}
		return true
	case c.form == formPlain:
		return c.cutFew(some, isJSON)
	}
	b := reader{b: c.payload, ok: true}
	size := b.uvarint()
	stored := size // bytes of a text there
	if c.form == formHex {
		stored = size / 2
	}
	if !b.ok || size == 0 || size > maxRaw || c.form == formHex && size%2 != 0 || uint64(len(b.b)) != stored*uint64(c.count) {
		return false
	}
	c.texts = c.texts[:0]
	if c.form == formHex {
		c.texts = slices.Grow(c.texts, len(some)*int(size))
	}
	for _, i := range some {
		text := b.b[uint64(i)*stored : uint64(i+1)*stored]
		if c.form == formHex {
			from := len(c.texts)
			for _, x := range text {
				c.texts = append(c.texts, hexDigits[x>>4], hexDigits[x&0xf])
			}
			text = c.texts[from:]
		}
		c.few = append(c.few, logs.TextValue(text, isJSON))
	}
	return true
}

// cutFew is takeFew for texts that follow their lengths.
func (c *storedColumn) cutFew(some []int32, isJSON bool) bool {
	b := reader{b: c.payload, ok: true}
	from := uint64(0)
	for i := range c.count {
		size := uint64(0)
		if len(b.b) > 0 && b.b[0] < 0x80 {
			size, b.b = uint64(b.b[0]), b.b[1:]
		} else if size = b.uvarint(); !b.ok || size > maxRaw {
			return false
		}
		if len(some) > 0 && int(some[0]) == i {
			some = some[1:]
			c.few = append(c.few, logs.TextValue(nil, isJSON))
			c.spans = append(c.spans[:2*len(c.few)-2], from, from+size)
		}
		from += size
	}
	if from != uint64(len(b.b)) {
		return false
	}
	for i := range c.few {
		c.few[i] = logs.TextValue(b.b[c.spans[2*i]:c.spans[2*i+1]], isJSON)
	}
	return true
}
