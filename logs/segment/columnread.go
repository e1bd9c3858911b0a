package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A columnReader reads the columns of a block that are asked for, each once. It is a [filter.Columns].
type columnReader struct {
	file    io.ReaderAt
	entry   *entry
	service []byte

	head    []byte
	columns []storedColumn // those of roleAttr behind the others
	shapes  [][]uint16     // columns, from the first attribute on
	numbers []int64        // see unpack
	stored  []byte
	times   []int64

	attrs   []byte
	indexes []int32
}

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

var columnReaders = sync.Pool{New: func() any { return new(columnReader) }}

// openColumns reads the head of a block.
func openColumns(file io.ReaderAt, e *entry, service []byte) (*columnReader, error) {
	r := columnReaders.Get().(*columnReader)
	r.file, r.entry, r.service, r.times = file, e, service, r.times[:0]
	err := r.readHead()
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close gives the reader back. What it returned is not valid any more.
func (r *columnReader) close() {
	r.file, r.entry = nil, nil
	columnReaders.Put(r)
}

func (r *columnReader) readHead() (err error) {
	e := r.entry
	if e.head > maxHead || e.head > e.stored || e.raw > maxRaw || uint64(e.count)*leastRecord > uint64(e.raw) {
		return errDamaged
	}
	if r.head, err = readPart(r.file, r.head, e.off, e.head, e.crc); err != nil {
		return err
	}
	b := reader{b: r.head, ok: true}
	n := b.uvarint()
	if n < roleAttr || n > roleAttr+maxAttrColumns {
		return errDamaged
	}
	r.columns = slices.Grow(r.columns[:0], int(n))[:n]
	off := e.off + int64(e.head)
	var total uint64
	for i := range r.columns {
		c := &r.columns[i]
		c.reader = r
		if !c.readLine(&b, i) {
			return errDamaged
		}
		c.off = off
		off += int64(c.stored)
		total += uint64(c.raw)
	}
	if off != e.off+int64(e.stored) || total > 4*maxRaw {
		return errDamaged
	}
	shapes := b.uvarint()
	if shapes == 0 || shapes > maxShapes {
		return errDamaged
	}
	r.shapes = r.shapes[:0]
	for range shapes {
		size := b.uvarint()
		if size > maxShapeAttrs {
			return errDamaged
		}
		shape := make([]uint16, size)
		for i := range shape {
			at := b.uvarint()
			if at >= n-roleAttr {
				return errDamaged
			}
			shape[i] = uint16(at)
		}
		r.shapes = append(r.shapes, shape)
	}
	if !b.ok || len(b.b) > 0 {
		return errDamaged
	}
	return nil
}

// leastRecord is the least that a record takes.
const leastRecord = 13

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

// readPart reads bytes of a file, in room if it has the space, and checks them.
func readPart(f io.ReaderAt, room []byte, off int64, size, crc uint32) ([]byte, error) {
	room = slices.Grow(room[:0], int(size))[:size]
	if size == 0 { // which may be at the end of the file
		if crc != checksum(nil) {
			return room, errDamaged
		}
		return room, nil
	}
	if _, err := f.ReadAt(room, off); errors.Is(err, io.EOF) {
		return room, errDamaged
	} else if err != nil {
		return room, err
	}
	if checksum(room) != crc {
		return room, errDamaged
	}
	return room, nil
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

// rowsOf returns the records with some shapes.
func (r *columnReader) rowsOf(has []bool, rows []int32) ([]int32, error) {
	rows = rows[:0]
	err := r.eachShape(func(row, shape int) {
		if has[shape] {
			rows = append(rows, int32(row))
		}
	})
	return rows, err
}

// eachShape calls fn with each record and its shape.
func (r *columnReader) eachShape(fn func(row, shape int)) error {
	c := &r.columns[roleShape]
	if err := c.load(); err != nil {
		return err
	}
	v := &c.values
	for row := range int(r.entry.count) {
		i := row
		if v.IDs != nil {
			i = int(v.IDs[row])
		}
		shape := v.All[i].Int64()
		if shape < 0 || shape >= int64(len(r.shapes)) {
			return errDamaged
		}
		fn(row, int(shape))
	}
	return nil
}

// Len is that of [filter.Columns], as are those that follow.
func (r *columnReader) Len() int { return int(r.entry.count) }

// Service returns the name of the service.
func (r *columnReader) Service() []byte { return r.service }

// Number returns that of a record.
func (r *columnReader) Number(row int) uint64 { return r.entry.first + uint64(row) }

// Times returns the times of all records.
func (r *columnReader) Times() ([]int64, error) {
	if len(r.times) > 0 {
		return r.times, nil
	}
	c := &r.columns[roleTime]
	err := c.fetch()
	if err != nil {
		return nil, err
	}
	if c.form == formDict {
		if !c.unpackNumbers() {
			return nil, errDamaged
		}
		for _, id := range c.values.IDs {
			r.times = append(r.times, c.values.All[id].Int64())
		}
		return r.times, nil
	}
	var ok bool
	if r.times, ok = c.unpack(r.times, c.payload, c.count); !ok {
		r.times = r.times[:0]
		return nil, errDamaged
	}
	return r.times, nil
}

// Levels returns the column of the levels.
func (r *columnReader) Levels() (filter.Column, error) { return &r.columns[roleLevel], nil }

// Text returns the column of a text.
func (r *columnReader) Text(part filter.Part) (filter.Column, error) {
	switch part {
	case filter.PartTask:
		return &r.columns[roleTask], nil
	case filter.PartJob:
		return &r.columns[roleJob], nil
	}
	return &r.columns[roleMessage], nil
}

// Attrs returns the columns of a key.
func (r *columnReader) Attrs(key []byte) (some []filter.Column, err error) {
	for i := range r.columns[roleAttr:] {
		if c := &r.columns[roleAttr+i]; string(c.key) == string(key) {
			some = append(some, c)
		}
	}
	return some, nil
}

// wanted returns the records that are wanted, with numbers from one on and up to another.
func (r *columnReader) wanted(w *want, from, until uint64) (filter.Rows, error) {
	e := r.entry
	rows := filter.NewRows(r.Len())
	if e.first < from || e.last() > until {
		for row := range rows.Each {
			if n := r.Number(row); n < from || n > until {
				rows.Remove(row)
			}
		}
	}
	if e.min < w.since || e.max > w.until {
		times, err := r.Times()
		if err != nil {
			return nil, err
		}
		for row := range rows.Each {
			if at := times[row]; at < w.since || at > w.until {
				rows.Remove(row)
			}
		}
	}
	if w.all {
		return rows, nil
	}
	return w.filter.Select(r, rows)
}

// readRecords reads all records of a block, in the room of two buffers, and returns these.
func (e *entry) readRecords(f io.ReaderAt, stored, raw []byte) (_, _ []byte, err error) {
	if e.head == 0 {
		if stored, err = e.read(f, stored); err == nil {
			raw, err = e.codec.expand(raw, stored, e.raw)
		}
		return stored, raw, err
	}
	r, err := openColumns(f, e, nil)
	if err != nil {
		return stored, raw, err
	}
	defer r.close()
	raw, _, err = r.records(raw[:0], nil, filter.NewRows(r.Len()))
	if err == nil && len(raw) != int(e.raw) {
		err = errDamaged
	}
	return stored, raw, err
}

// moments calls fn with the time and the level of some records.
func (r *columnReader) moments(of filter.Rows, fn func(at int64, level slog.Level)) error {
	times, err := r.Times()
	if err != nil {
		return err
	}
	c := &r.columns[roleLevel]
	if err := c.load(); err != nil {
		return err
	}
	for row := range of.Each {
		fn(times[row], slog.Level(at(&c.values, row).Int64()))
	}
	return nil
}

// records appends the encoding of some records to raw, and their numbers to numbers.
func (r *columnReader) records(raw []byte, numbers []uint64, of filter.Rows) ([]byte, []uint64, error) {
	times, err := r.Times()
	if err != nil {
		return raw, numbers, err
	}
	for i := range r.columns {
		c := &r.columns[i]
		if i == roleTime {
			continue
		}
		if err := c.loadFor(of); err != nil {
			return raw, numbers, err
		}
	}
	most := len(raw) + int(r.entry.raw)
	shapes := &r.columns[roleShape]
	var v logs.View
	for row := range of.Each {
		v.Time = times[row]
		shape := shapes.valueOf(row).Int64()
		if shape < 0 || shape >= int64(len(r.shapes)) {
			return raw, numbers, errDamaged
		}
		v.Level = slog.Level(r.columns[roleLevel].valueOf(row).Int64())
		v.Message, _ = r.columns[roleMessage].valueOf(row).Text()
		v.Task, _ = r.columns[roleTask].valueOf(row).Text()
		v.Job, _ = r.columns[roleJob].valueOf(row).Text()
		r.attrs = r.attrs[:0]
		for _, i := range r.shapes[shape] {
			c := &r.columns[roleAttr+int(i)]
			value := c.valueOf(row)
			if value == nil {
				return raw, numbers, errDamaged
			}
			r.attrs = value.AppendEncoded(append(r.attrs, c.prefix...))
			if len(r.attrs) > logs.MaxRecord {
				return raw, numbers, errDamaged
			}
		}
		v.SetEncodedAttrs(r.attrs)
		if raw = v.Append(raw); len(raw) > most {
			return raw, numbers, fmt.Errorf("%w: a block has more than it says", errDamaged)
		}
		numbers = append(numbers, r.Number(row))
	}
	return raw, numbers, nil
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
