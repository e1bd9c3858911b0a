package filter

import (
	"log/slog"
	"math/bits"

	"github.com/meanwhile-go/meanwhile/logs"
)

// Columns are the records of one service in a block, stored by column, so that a filter reads only the columns that it needs.
type Columns interface {
	Len() int
	Service() []byte
	Number(row int) uint64
	Times() ([]int64, error)
	Levels() (Column, error)            // whose values are integers
	Text(part Part) (Column, error)     // whose values are texts
	Attrs(key []byte) ([]Column, error) // all that have this key
}

// A Part is a text of a record.
type Part int

// The parts of a record that are texts.
const (
	PartMessage Part = iota
	PartTask
	PartJob
)

// A Column holds the values of one kind that records of a block have.
type Column interface {
	// Bounds returns the least and the greatest value, if these are known without reading the values: of integers, unsigned integers,
	// durations and times, as they are compared.
	Bounds() (least, most logs.AttrValue, ok bool)

	// Values returns the values and which records have them.
	Values() (Values, error)
}

// Values are what a column holds.
type Values struct {
	All  []logs.AttrValue
	IDs  []uint8 // for each record that has a value, its index in All; nil: All has the values of the records one after the other
	Rows []int32 // the records that have a value, ascending; nil: each record has one
}

// Rows are some of the records of a block.
type Rows []uint64

// NewRows returns the first n records of a block.
func NewRows(n int) Rows {
	r := make(Rows, (n+63)/64)
	for i := range r {
		r[i] = ^uint64(0)
	}
	if rest := n % 64; rest > 0 {
		r[len(r)-1] = 1<<rest - 1
	}
	return r
}

// Has reports whether a record is among them.
func (r Rows) Has(row int) bool { return r[row/64]>>(row%64)&1 != 0 }

// Count returns how many there are.
func (r Rows) Count() (n int) {
	for _, w := range r {
		n += bits.OnesCount64(w)
	}
	return n
}

// Remove removes a record.
func (r Rows) Remove(row int) { r[row/64] &^= 1 << (row % 64) }

// Each yields them, ascending.
func (r Rows) Each(yield func(row int) bool) {
	for i, w := range r {
		for ; w != 0; w &= w - 1 {
			if !yield(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Any reports whether there are any.
func (r Rows) Any() bool { return !r.none() }

func (r Rows) none() bool {
	for _, w := range r {
		if w != 0 {
			return false
		}
	}
	return true
}

func (r Rows) set(row int) { r[row/64] |= 1 << (row % 64) }

func (r Rows) empty() Rows { return make(Rows, len(r)) }

// without returns those that are not in other.
func (r Rows) without(other Rows) Rows {
	rest := make(Rows, len(r))
	for i := range r {
		rest[i] = r[i] &^ other[i]
	}
	return rest
}

func (r Rows) add(other Rows) {
	for i := range r {
		r[i] |= other[i]
	}
}

// Select returns those of the given records of a block that match. It reads no column that cannot change the result.
func (f Filter) Select(c Columns, of Rows) (Rows, error) {
	if f.expr == nil || of.none() {
		return of, nil
	}
	return f.expr.among(c, of)
}

func (all allOf) among(c Columns, of Rows) (Rows, error) {
	for _, e := range all {
		var err error
		if of, err = e.among(c, of); err != nil || of.none() {
			return of, err
		}
	}
	return of, nil
}

func (some anyOf) among(c Columns, of Rows) (Rows, error) {
	found := of.empty()
	for _, e := range some {
		rest := of.without(found)
		if rest.none() {
			break
		}
		more, err := e.among(c, rest)
		if err != nil {
			return nil, err
		}
		found.add(more)
	}
	return found, nil
}

func (n notTerm) among(c Columns, of Rows) (Rows, error) {
	found, err := n.term.among(c, of)
	if err != nil {
		return nil, err
	}
	return of.without(found), nil
}

func (b *between) among(c Columns, of Rows) (Rows, error) {
	found := of.empty()
	switch b.field {
	case fieldTime:
		times, err := c.Times()
		if err != nil {
			return nil, err
		}
		for row := range of.Each {
			if at := times[row]; b.lo <= at && at <= b.hi {
				found.set(row)
			}
		}
	case fieldLevel:
		levels, err := c.Levels()
		if err != nil {
			return nil, err
		}
		return found, amongColumn(levels, of, found, func(value *logs.AttrValue) bool {
			return b.lo <= value.Int64() && value.Int64() <= b.hi
		})
	case fieldNumber:
		for row := range of.Each {
			if n := int64(c.Number(row)); b.lo <= n && n <= b.hi {
				found.set(row)
			}
		}
	}
	return found, nil
}

func (p *phrase) among(c Columns, of Rows) (Rows, error) {
	return amongTexts(c, fieldMessage, of, p.matchText)
}

func (f *fieldIs) among(c Columns, of Rows) (Rows, error) { return amongTexts(c, f.field, of, f.is) }

func (f *fieldLike) among(c Columns, of Rows) (Rows, error) {
	return amongTexts(c, f.field, of, f.pattern.match)
}

// amongTexts returns the records whose text of a field is wanted.
func amongTexts(c Columns, of field, rows Rows, is func(text []byte) bool) (Rows, error) {
	part := PartMessage
	switch of {
	case fieldService:
		if is(c.Service()) {
			return rows, nil
		}
		return rows.empty(), nil
	case fieldTask:
		part = PartTask
	case fieldJob:
		part = PartJob
	}
	column, err := c.Text(part)
	if err != nil {
		return nil, err
	}
	found := rows.empty()
	return found, amongColumn(column, rows, found, func(value *logs.AttrValue) bool {
		text, _ := value.Text()
		return is(text)
	})
}

func (a *attrHas) among(c Columns, of Rows) (Rows, error) {
	return amongAttrs(c, a.key, of, nil, func(*logs.AttrValue) bool { return true })
}

func (a *attrIs) among(c Columns, of Rows) (Rows, error) {
	return amongAttrs(c, a.key, of, a.between, a.is)
}

func (a *attrCompare) among(c Columns, of Rows) (Rows, error) {
	return amongAttrs(c, a.key, of, a.between, a.is)
}

func (a *attrLike) among(c Columns, of Rows) (Rows, error) {
	return amongAttrs(c, a.key, of, nil, a.is)
}

// amongAttrs returns the records that have an attribute with a key and a wanted value. between, which may be nil, reports whether a
// wanted value may lie between a least and a greatest one.
func amongAttrs(c Columns, key string, of Rows, between func(least, most *logs.AttrValue) bool, is func(value *logs.AttrValue) bool) (Rows, error) {
	columns, err := c.Attrs([]byte(key))
	if err != nil {
		return nil, err
	}
	found := of.empty()
	for _, column := range columns {
		if between != nil {
			if least, most, ok := column.Bounds(); ok && !between(&least, &most) {
				continue
			}
		}
		if err := amongColumn(column, of, found, is); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// amongColumn adds to found the records among some whose value is wanted.
func amongColumn(c Column, of, found Rows, is func(value *logs.AttrValue) bool) error {
	v, err := c.Values()
	if err != nil {
		return err
	}
	if v.IDs == nil {
		if v.Rows == nil {
			for row := range of.Each {
				if is(&v.All[row]) {
					found.set(row)
				}
			}
			return nil
		}
		for i, row := range v.Rows {
			if of.Has(int(row)) && is(&v.All[i]) {
				found.set(int(row))
			}
		}
		return nil
	}
	var wanted [256]bool
	any := false
	for i := range v.All {
		wanted[i] = is(&v.All[i])
		any = any || wanted[i]
	}
	switch {
	case !any:
	case v.Rows == nil:
		for i, w := range of {
			if w == 0 {
				continue
			}
			ids := v.IDs[i*64 : min(i*64+64, len(v.IDs))]
			var hit uint64
			for k, id := range ids {
				if wanted[id] {
					hit |= 1 << k
				}
			}
			found[i] |= hit & w
		}
	default:
		for i, row := range v.Rows {
			if wanted[v.IDs[i]] && of.Has(int(row)) {
				found.set(int(row))
			}
		}
	}
	return nil
}

// between reports whether a wanted value may lie between least and most.
func (a *attrIs) between(least, most *logs.AttrValue) bool {
	w := &a.values[0]
	if len(a.values) > 1 || w.prefix || least.Kind() != slog.KindInt64 {
		return true
	}
	return w.isInteger && least.Int64() <= w.integer && w.integer <= most.Int64()
}

func (a *attrCompare) between(least, most *logs.AttrValue) bool {
	if a.isTime {
		lo, hi := a.time.compared(a.comparison)
		return least.Kind() == slog.KindTime && least.Int64() <= hi && most.Int64() >= lo
	}
	return a.is(least) || a.is(most) // a comparison is unbounded on one side
}
