package segment

import (
	"encoding/binary"
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A storedColumn is one that can be read.
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
	texts   []byte // that payload has packed
	values  filter.Values
	rows    []int32
	next    int // of values or few, see records
	sparse  bool
	few     []logs.AttrValue // of the records that are wanted, see loadFor
	spans   []uint64         // of these in the payload, where each begins and ends
}

// readLine reads what the head says of a column.
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

// zeros returns n ids that are all that of the first value.
func zeros(n int) []uint8 {
	if n <= len(noIDs) {
		return noIDs[:n]
	}
	return make([]uint8, n)
}

var noIDs [16 << 10]uint8

func (c *storedColumn) unpackTexts() bool {
	v := &c.values
	v.IDs = nil
	value := func(text []byte) logs.AttrValue {
		return logs.TextValue(text, c.kind == slog.KindAny && c.role == roleAttr)
	}
	n := uint64(c.count)
	b := reader{b: c.payload, ok: true}
	switch c.form {
	case formConst:
		v.All = append(v.All[:0], value(c.payload))
		v.IDs = zeros(c.count)
		return true
	case formDict:
		if n = b.uvarint(); n == 0 || n > maxDict || len(c.payload) < c.count {
			return false
		}
		ids := c.payload[len(c.payload)-c.count:]
		if len(ids) > len(b.b) {
			return false
		}
		b.b = b.b[:len(b.b)-len(ids)]
		return c.cutTexts(&b, int(n), value) && setIDs(v, ids, c.count)
	case formPlain:
		return c.cutTexts(&b, c.count, value)
	case formFixed, formHex:
		size := b.uvarint()
		text := b.b
		if !b.ok || size == 0 || size > maxRaw {
			return false
		}
		if c.form == formHex {
			if size%2 != 0 || uint64(len(text))*2 != size*n {
				return false
			}
			c.texts = slices.Grow(c.texts[:0], 2*len(text))[:2*len(text)]
			for i, x := range text {
				c.texts[2*i], c.texts[2*i+1] = hexDigits[x>>4], hexDigits[x&0xf]
			}
			text = c.texts
		}
		if uint64(len(text)) != size*n {
			return false
		}
		v.All = slices.Grow(v.All[:0], c.count)[:c.count]
		for i := range v.All {
			v.All[i] = value(text[i*int(size) : (i+1)*int(size) : (i+1)*int(size)])
		}
		return true
	}
	return false
}

const hexDigits = "0123456789abcdef"

// cutTexts reads n lengths, and as many texts behind them, to the end.
func (c *storedColumn) cutTexts(b *reader, n int, value func([]byte) logs.AttrValue) bool {
	if n > len(b.b) {
		return false
	}
	lengths := b.b
	var total uint64
	for range n {
		size := b.uvarint()
		if !b.ok || size > maxRaw {
			return false
		}
		total += size
	}
	text := b.b
	if total != uint64(len(text)) {
		return false
	}
	v := &c.values
	v.All = slices.Grow(v.All[:0], n)[:n]
	for i := range v.All {
		size := int(lengths[0])
		if size < 0x80 {
			lengths = lengths[1:]
		} else {
			x, k := binary.Uvarint(lengths)
			size, lengths = int(x), lengths[k:]
		}
		v.All[i] = value(text[:size:size])
		text = text[size:]
	}
	return true
}

// Bounds is that of [filter.Column].
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

// Values is that of [filter.Column].
func (c *storedColumn) Values() (filter.Values, error) {
	if err := c.load(); err != nil {
		return filter.Values{}, err
	}
	if err := c.place(); err != nil {
		return filter.Values{}, err
	}
	return c.values, nil
}

// place works out which records have a value.
func (c *storedColumn) place() error {
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

// index returns which of the attributes it is.
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

// valueOf returns the value of a record, for records one behind the other; nil when it has none.
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

// loadFor prepares the column for valueOf of some records: of few it takes their values alone out of the payload.
func (c *storedColumn) loadFor(of filter.Rows) error {
	c.next, c.sparse = 0, false
	n := of.Count()
	if !c.loaded && n*8 < c.count && c.canTakeFew() {
		if err := c.place(); err != nil {
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
	return c.place()
}

// canTakeFew reports whether values of this form need not be read all.
func (c *storedColumn) canTakeFew() bool {
	if c.role == roleShape {
		return false // all who place columns read it
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

// takeFew takes some values out of the payload.
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

// cutFew is takeFew for texts behind their lengths.
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
