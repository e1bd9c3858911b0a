package segment

import (
	"encoding/binary"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// Columns are how a block holds its records: what is alike in them lies together, so that it takes little room and a search reads
// those columns alone that its filter looks at.
//
//	block   = head, the columns' bytes one behind the other
//	head    = number of columns, for each of them its line; number of shapes, for each of them the number of its attributes and
//	          the columns these are in
//	line    = role, for an attribute its key and kind, number of values, form, compression, bytes stored, bytes raw, crc of the stored,
//	          for numbers least, greatest, base, unit and width
//
// A shape is which attributes a record has, in their order. Times, levels, messages, tasks, jobs and shapes are columns of all records.
// A second attribute with the same key and kind in a record is in a column of its own.
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

// What a column is of.
const (
	roleTime = iota
	roleLevel
	roleMessage
	roleTask
	roleJob
	roleShape
	roleAttr
)

// How the values of a column are written.
const (
	formConst = iota // one for all
	formDict         // number of distinct ones, these, and for each value a byte that says which it is
	formPlain        // lengths and bytes; numbers as planes of bytes, lowest first, of (value - base) / unit
	formDelta        // planes of the differences to the number before, less base; the first number is base itself. See numbers.go
	formFixed        // the length of all, and their bytes
	formHex          // the length of all in bytes, which are those of lower case hexadecimal digits
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

// A column gathers the values of one part of the records.
type column struct {
	role  byte
	key   []byte
	kind  slog.Kind // of an attribute
	count int

	numbers []int64 // of all kinds that are no texts
	text    []byte  // texts, one behind the other: all, or the distinct ones
	ends    []uint32
	ids     []uint8
	few     bool // text and ends are of distinct ones
	known   map[string]uint8
	last    uint8 // id of the text that came last
}

func (c *column) isText() bool {
	return c.role == roleMessage || c.role == roleTask || c.role == roleJob || c.role == roleAttr && (c.kind == slog.KindString || c.kind == slog.KindAny)
}

func (c *column) reset(role byte, key []byte, kind slog.Kind) {
	clear(c.known)
	*c = column{
		role: role, key: append(c.key[:0], key...), kind: kind, numbers: c.numbers[:0], text: c.text[:0], ends: c.ends[:0], ids: c.ids[:0],
		few: true, known: c.known,
	}
	if c.known == nil {
		c.known = make(map[string]uint8)
	}
}

// textAt returns the i-th of the texts.
func (c *column) textAt(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from:c.ends[i]]
}

func (c *column) addText(text []byte) {
	c.count++
	if c.few {
		if n := len(c.ids); n > 0 && string(c.textAt(int(c.last))) == string(text) {
			c.ids = append(c.ids, c.last)
			return
		}
		id, ok := c.known[string(text)]
		if !ok && len(c.ends) < maxDict {
			id = uint8(len(c.ends))
			c.known[string(text)] = id
			c.text = append(c.text, text...)
			c.ends = append(c.ends, uint32(len(c.text)))
			ok = true
		}
		if ok {
			c.ids = append(c.ids, id)
			c.last = id
			return
		}
		c.spread()
	}
	c.text = append(c.text, text...)
	c.ends = append(c.ends, uint32(len(c.text)))
}

// spread writes each text out, as there are too many distinct ones.
func (c *column) spread() {
	c.few = false
	distinct, ends := append([]byte(nil), c.text...), append([]uint32(nil), c.ends...)
	c.text, c.ends = c.text[:0], c.ends[:0]
	for _, id := range c.ids {
		from := uint32(0)
		if id > 0 {
			from = ends[id-1]
		}
		c.text = append(c.text, distinct[from:ends[id]]...)
		c.ends = append(c.ends, uint32(len(c.text)))
	}
	c.ids = c.ids[:0]
}

// A shapeNode is the beginning of shapes: those attributes that lead to it.
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

// add adds a record, and reports whether there is room for what it has.
func (c *columns) add(v *logs.View) bool {
	node := c.root
	for attrs := v.EncodedAttrs(); len(attrs) > 0; {
		key, value, rest, ok := logs.NextAttr(attrs)
		if !ok {
			return false
		}
		if size := value.EncodedLen() + uvarintLen(len(key)) + len(key); size != len(attrs)-len(rest) {
			return false // it would be another one when it is read
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

// follow returns the node behind another one for an attribute, nil when there is no room for it.
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
		if col.kind == kind && string(col.key) == string(key) && !contains(c.cols, uint16(i)) {
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

func contains(all []uint16, x uint16) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
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

// appendTokens appends the tokens of the records, those of a value that several have once.
func (c *columns) appendTokens(tokens []uint64) []uint64 {
	for col := range c.each {
		tokens = col.appendTokens(tokens)
	}
	return tokens
}

func (c *column) appendTokens(tokens []uint64) []uint64 {
	if !c.isText() {
		if c.role != roleAttr {
			return tokens
		}
		for i, n := range c.numbers {
			if i == 0 || n != c.numbers[i-1] {
				value := logs.BitsValue(c.kind, uint64(n))
				tokens = filter.AppendAttrTokens(tokens, c.key, &value)
			}
		}
		return tokens
	}
	var before []byte
	for i := range c.ends {
		text := c.textAt(i)
		switch c.role {
		case roleMessage:
			tokens = filter.AppendMessageTokens(tokens, filter.FreshWords(text, before))
			before = text
		case roleTask:
			tokens = filter.AppendTaskTokens(tokens, text)
		case roleJob:
			tokens = filter.AppendJobToken(tokens, text)
		default:
			value := logs.TextValue(text, c.kind == slog.KindAny)
			tokens = filter.AppendAttrTokens(tokens, c.key, &value)
		}
	}
	return tokens
}

// encode appends the head to one buffer, and the columns, compressed, to another.
func (c *columns) encode(head, body []byte, k codec) (_, _ []byte) {
	head = binary.AppendUvarint(head, uint64(len(c.roles)+len(c.attrs)))
	for col := range c.each {
		head, body = c.appendColumn(head, body, col, k)
	}
	head = binary.AppendUvarint(head, uint64(len(c.shapes)))
	for _, shape := range c.shapes {
		head = binary.AppendUvarint(head, uint64(len(shape)))
		for _, at := range shape {
			head = binary.AppendUvarint(head, uint64(at))
		}
	}
	return head, body
}

func (c *columns) appendColumn(head, body []byte, col *column, k codec) (_, _ []byte) {
	var p packing
	if col.isText() {
		c.payload, p = col.packTexts(c.payload[:0])
	} else {
		c.payload, p = packNumbers(c.payload[:0], col.numbers)
	}
	if p.packed || len(c.payload) < 32 {
		k = plain
	}
	from := len(body)
	body = k.compress(body, c.payload)
	if k != plain && len(body)-from >= len(c.payload)-len(c.payload)/16 {
		k = plain
		body = append(body[:from], c.payload...)
	}
	head = append(head, col.role)
	if col.role == roleAttr {
		head = binary.AppendUvarint(head, uint64(len(col.key)))
		head = append(append(head, col.key...), kindByte(col.kind))
	}
	head = binary.AppendUvarint(head, uint64(col.count))
	head = append(head, p.form, byte(k))
	head = binary.AppendUvarint(head, uint64(len(body)-from))
	head = binary.AppendUvarint(head, uint64(len(c.payload)))
	head = binary.LittleEndian.AppendUint32(head, checksum(body[from:]))
	if !col.isText() {
		head = p.append(head)
	}
	return head, body
}

// packTexts appends the payload of a column of texts.
func (c *column) packTexts(b []byte) ([]byte, packing) {
	switch {
	case c.few && len(c.ends) <= 1:
		return append(b, c.text...), packing{form: formConst}
	case c.few:
		b = binary.AppendUvarint(b, uint64(len(c.ends)))
		b = c.appendLengths(b)
		return append(append(b, c.text...), c.ids...), packing{form: formDict}
	}
	if n := c.fixedLength(); n > 0 {
		b = binary.AppendUvarint(b, uint64(n))
		if n%2 == 0 && isHex(c.text) {
			return appendHex(b, c.text), packing{form: formHex, packed: true}
		}
		return append(b, c.text...), packing{form: formFixed}
	}
	return append(c.appendLengths(b), c.text...), packing{form: formPlain}
}

func (c *column) appendLengths(b []byte) []byte {
	from := uint32(0)
	for _, end := range c.ends {
		b = binary.AppendUvarint(b, uint64(end-from))
		from = end
	}
	return b
}

// fixedLength returns the length that all texts have, or zero.
func (c *column) fixedLength() int {
	n := c.ends[0]
	for i, end := range c.ends {
		if end != n*uint32(i+1) {
			return 0
		}
	}
	return int(n)
}

// digits has for each hexadecimal digit its value, and 0xff for what is none.
var digits = func() (digits [256]byte) {
	for i := range digits {
		digits[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		digits[c] = byte(i)
	}
	return digits
}()

func isHex(text []byte) bool {
	for _, c := range text {
		if digits[c] == 0xff {
			return false
		}
	}
	return true
}

func appendHex(b, text []byte) []byte {
	for i := 0; i < len(text); i += 2 {
		b = append(b, digits[text[i]]<<4|digits[text[i+1]])
	}
	return b
}
