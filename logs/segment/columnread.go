package segment

import (
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
	columns []storedColumn // those of roleAttr after the others
	shapes  [][]uint16     // columns, from the first attribute on
	numbers []int64        // see unpack
	stored  []byte
	times   []int64

	attrs   []byte
	indexes []int32
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

// close returns the reader to the pool. What the reader has returned is not valid any more.
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

// leastRecord is the smallest size of an encoded record, in bytes.
const leastRecord = 13

// readPart reads bytes of a file into buf, which it enlarges if necessary, and verifies their checksum.
func readPart(f io.ReaderAt, buf []byte, off int64, size, crc uint32) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(size))[:size]
	if size == 0 { // which may be at the end of the file
		if crc != checksum(nil) {
			return buf, errDamaged
		}
		return buf, nil
	}
	if _, err := f.ReadAt(buf, off); errors.Is(err, io.EOF) {
		return buf, errDamaged
	} else if err != nil {
		return buf, err
	}
	if checksum(buf) != crc {
		return buf, errDamaged
	}
	return buf, nil
}

// rowsOf returns the records whose shapes are marked in has.
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

// Len implements [filter.Columns], as do the methods that follow.
func (r *columnReader) Len() int { return int(r.entry.count) }

// Service returns the name of the service.
func (r *columnReader) Service() []byte { return r.service }

// Number returns the number of a record.
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

// wanted returns the wanted records whose numbers are between from and until.
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

// readRecords reads all records of a block, in the memory of two buffers, and returns these.
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
