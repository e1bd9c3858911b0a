package segment

import (
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A columns holds the records of a block by columns: similar values are stored together, so that they take little space, and a search
// reads only the columns that its filter needs.
//
//	block   = head, the columns' bytes one behind the other
//	head    = number of columns, for each of them its line; number of shapes, for each of them the number of its attributes and
//	          the columns these are in
//	line    = role, for an attribute its key and kind, number of values, form, compression, bytes stored, bytes raw, crc of the stored,
//	          for numbers least, greatest, base, unit and width
//
// A shape is the list of the attributes of a record, in their order. Times, levels, messages, tasks, jobs and shapes are columns of all
// records. A second attribute with the same key and kind in a record is in a column of its own.
//
// The head's numbers are varints. Columns are compressed one by one. A block that has too many shapes or attributes holds
// its records as they are.
type columns struct {
	count  int
	roles  [roleAttr]*column // of all records
	attrs  []*column
	shapes [][]uint16 // columns of attrs

	root    *shapeNode
	nodes   int
	cols    []uint16 // of a record, see add
	spare   []*column
	payload []byte
}

// How the values of a column are written.
const (
	formConst = iota // one for all
	formDict         // number of distinct ones, these, and for each value a byte that says which it is
	formPlain        // lengths and bytes; numbers as planes of bytes, lowest first, of (value - base) / unit
	formDelta        // planes of the differences to the number before, less base; the first number is base itself. See numbers.go
	formFixed        // the length of all, and their bytes
	formHex          // the length of all, and the bytes that their lower-case hexadecimal digits stand for
	formUnknown
)

// Bounds of a block of columns.
const (
	maxAttrColumns = 256
	maxShapes      = 1024
	maxShapeNodes  = 4096
	maxShapeAttrs  = 256
	maxHead        = 1 << 20
	maxDict        = 255 // distinct values
)

// columnKinds are the kinds of attributes, and how they are written. Text and JSON are texts, all others numbers.
var columnKinds = []struct {
	kind slog.Kind
	byte byte
}{
	{slog.KindString, 's'}, {slog.KindAny, 'j'}, {slog.KindInt64, 'i'}, {slog.KindUint64, 'u'}, {slog.KindFloat64, 'f'}, {slog.KindBool, 'b'}, {slog.KindDuration, 'd'}, {slog.KindTime, 'T'},
}

func kindByte(kind slog.Kind) byte {
	for _, k := range columnKinds {
		if k.kind == kind {
			return k.byte
		}
	}
	return 0
}

func kindOf(b byte) (kind slog.Kind, ok bool) {
	for _, k := range columnKinds {
		if k.byte == b {
			return k.kind, true
		}
	}
	return 0, false
}

// A shapeNode is the beginning of one or more shapes: the attributes on the path to it.
type shapeNode struct {
	column uint16 // of the last one
	shape  int32  // that ends here, from 1 on
	next   []*shapeNode
}

func (c *columns) reset() {
	c.spare = append(c.spare, c.attrs...)
	*c = columns{roles: c.roles, attrs: c.attrs[:0], cols: c.cols[:0], spare: c.spare, payload: c.payload[:0], root: new(shapeNode)}
	for role := range c.roles {
		if c.roles[role] == nil {
			c.roles[role] = new(column)
		}
		c.roles[role].reset(byte(role), nil, slog.KindInt64)
	}
}

// add adds a record. It returns false if the record exceeds a bound, or would be read back differently.
func (c *columns) add(v *logs.View) bool {
	node := c.root
	for attrs := v.EncodedAttrs(); len(attrs) > 0; {
		key, value, rest, ok := logs.NextAttr(attrs)
		if !ok {
			return false
		}
		if size := value.EncodedLen() + uvarintLen(len(key)) + len(key); size != len(attrs)-len(rest) {
			return false // it would be read back differently
		}
		attrs = rest
		if node = c.follow(node, key, value.Kind()); node == nil {
			return false
		}
		col := c.attrs[node.column]
		if col.isText() {
			text, _ := value.Text()
			col.addText(text)
		} else {
			col.numbers = append(col.numbers, int64(value.Bits()))
			col.count++
		}
		c.cols = append(c.cols, node.column)
	}
	if node.shape == 0 {
		if len(c.shapes) == maxShapes {
			return false
		}
		c.shapes = append(c.shapes, append([]uint16(nil), c.cols...))
		node.shape = int32(len(c.shapes))
	}
	c.cols = c.cols[:0]
	c.count++
	c.addNumber(roleTime, v.Time)
	c.addNumber(roleLevel, int64(v.Level))
	c.addNumber(roleShape, int64(node.shape-1))
	c.roles[roleMessage].addText(v.Message)
	c.roles[roleTask].addText(v.Task)
	c.roles[roleJob].addText(v.Job)
	return true
}

func (c *columns) addNumber(role int, n int64) {
	c.roles[role].numbers = append(c.roles[role].numbers, n)
	c.roles[role].count++
}

// follow returns the node that an attribute leads to from another node, or nil if that exceeds a bound.
func (c *columns) follow(node *shapeNode, key []byte, kind slog.Kind) *shapeNode {
	for _, next := range node.next {
		if col := c.attrs[next.column]; col.kind == kind && string(col.key) == string(key) {
			return next
		}
	}
	if c.nodes++; c.nodes > maxShapeNodes || len(c.cols) == maxShapeAttrs {
		return nil
	}
	at := -1
	for i, col := range c.attrs {
		if col.kind == kind && string(col.key) == string(key) && !slices.Contains(c.cols, uint16(i)) {
			at = i
			break
		}
	}
	if at < 0 {
		if at = len(c.attrs); at == maxAttrColumns {
			return nil
		}
		col := new(column)
		if n := len(c.spare); n > 0 {
			col, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		col.reset(roleAttr, key, kind)
		c.attrs = append(c.attrs, col)
	}
	next := &shapeNode{column: uint16(at)}
	node.next = append(node.next, next)
	return next
}

func uvarintLen(x int) (n int) {
	for n = 1; x >= 0x80; x >>= 7 {
		n++
	}
	return n
}

// each yields all columns that are stored.
func (c *columns) each(yield func(*column) bool) {
	for _, col := range c.roles {
		if !yield(col) {
			return
		}
	}
	for _, col := range c.attrs {
		if !yield(col) {
			return
		}
	}
}
