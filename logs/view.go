package logs

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"time"
)

// A View is a record whose texts refer to a buffer that it does not own, such as that of a connection or of a block of a store. Records are
// passed on as views because a view is created without a copy. To keep a record, call [View.Record].
type View struct {
	Time    int64      // nanoseconds since 1970; zero: unknown, and the receiver sets the time
	Level   slog.Level //
	Service []byte     // not part of the encoding: a [Batch] is of one service
	Number  uint64     // the [Record].Number, or zero if unknown; not part of the encoding either
	Message []byte     //
	Task    []byte     //
	Job     []byte     //
	attrs   []byte     // encoded
}

// The kinds of an encoded value.
const (
	kindText     = 's'
	kindInt      = 'i'
	kindUint     = 'u'
	kindFloat    = 'f'
	kindTrue     = 't'
	kindFalse    = 'n'
	kindDuration = 'd'
	kindTime     = 'T'
	kindJSON     = 'j' // of values that have no other kind
)

// Bounds of one encoded record, which a reader checks before it allocates memory.
const (
	// MaxRecord is the maximum size of an encoded record, in bytes. A longer message is truncated, and ends with the number of missing bytes.
	MaxRecord = 1 << 20
	maxAttrs  = 1 << 10
)

var errDamaged = errors.New("damaged record")

// Append appends the encoding of the record to data.
//
//	record = length of the rest, time, level, message, task, job, attributes
//	time   = 8 bytes, little-endian
//	level  = signed varint, within 32 bits
//	text   = varint length, bytes; message, task and job are texts
//	attributes, to the end: text key, byte kind, value
//
// Values are a text (kinds s and j), a signed varint (i, d in nanoseconds, T in nanoseconds since 1970), a varint (u),
// 8 bytes (f), or nothing (t and n, for true and false).
func (v *View) Append(data []byte) []byte {
	var head [10 + 8 + 4*binary.MaxVarintLen64]byte
	size := v.bodyLen()
	b := binary.AppendUvarint(head[:0], uint64(size))
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Time))
	b = binary.AppendVarint(b, boundedLevel(v.Level))
	data = append(data, b...)
	data = appendText(data, v.Message)
	data = appendText(data, v.Task)
	data = appendText(data, v.Job)
	return append(data, v.attrs...)
}

// EncodedLen returns how many bytes Append appends.
func (v *View) EncodedLen() int {
	size := v.bodyLen()
	return uvarintLen(uint64(size)) + size
}

// bodyLen returns the size of the encoding without the length at its start.
func (v *View) bodyLen() int {
	return 8 + varintLen(boundedLevel(v.Level)) + textLen(len(v.Message)) + textLen(len(v.Task)) + textLen(len(v.Job)) + len(v.attrs)
}

// boundedLevel returns a level as it is encoded: one outside of 32 bits, which every reader refuses, becomes the nearest one within them.
func boundedLevel(level slog.Level) int64 {
	return min(max(int64(level), math.MinInt32), math.MaxInt32)
}

// Next reads the record at the beginning of data, and returns the data after it. The view refers to data; its service and number
// are left as they are.
func (v *View) Next(data []byte) (rest []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > MaxRecord || size > uint64(len(data)-n) || size < 12 {
		return nil, errDamaged
	}
	b, rest := data[n:n+int(size)], data[n+int(size):]
	v.Time = int64(binary.LittleEndian.Uint64(b))
	level, n := binary.Varint(b[8:])
	if n <= 0 || level != int64(int32(level)) {
		return nil, errDamaged
	}
	v.Level = slog.Level(level)
	b = b[8+n:]
	var ok bool
	if v.Message, b, ok = cutText(b); !ok {
		return nil, errDamaged
	}
	if v.Task, b, ok = cutText(b); !ok {
		return nil, errDamaged
	}
	if v.Job, b, ok = cutText(b); !ok {
		return nil, errDamaged
	}
	v.attrs = b
	return rest, nil
}

// Check reports damage in the attributes, which Next does not check.
func (v *View) Check() error {
	b := v.attrs
	for n := 0; len(b) > 0; n++ {
		size := attrSize(b)
		if size < 0 || n == maxAttrs {
			return errDamaged
		}
		b = b[size:]
	}
	return nil
}

// attrSize returns the size of the encoded attribute at the beginning of b, or less than zero for a damaged one. Most keys and
// texts are short.
func attrSize(b []byte) int {
	if at := 1 + int(b[0]); at < len(b)-1 && at <= 0x80 {
		switch b[at] {
		case kindText, kindJSON:
			if end := at + 2 + int(b[at+1]); b[at+1] < 0x80 && end <= len(b) {
				return end
			}
		case kindInt, kindDuration, kindTime, kindUint:
			if b[at+1] < 0x80 {
				return at + 2
			}
		}
	}
	_, _, rest, ok := NextAttr(b)
	if !ok {
		return -1
	}
	return len(b) - len(rest)
}

// Record returns a copy of the record, which does not refer to the buffer. A damaged attribute, and those after it, are left out.
func (v *View) Record() Record {
	r := Record{
		Time: time.Unix(0, v.Time).UTC(), Level: v.Level, Service: string(v.Service), Message: string(v.Message),
		Task: string(v.Task), Job: string(v.Job), Number: v.Number,
	}
	n := 0
	for b := v.attrs; len(b) > 0; n++ {
		size := attrSize(b)
		if size < 0 {
			break
		}
		b = b[size:]
	}
	if n == 0 {
		return r
	}
	r.Attrs = make([]slog.Attr, 0, n)
	for b := v.attrs; n > 0; n-- {
		key, value, rest, _ := NextAttr(b)
		r.Attrs = append(r.Attrs, slog.Attr{Key: string(key), Value: value.Value()})
		b = rest
	}
	return r
}

// Reset makes the view an empty record, and keeps the buffer of its attributes.
func (v *View) Reset() { *v = View{attrs: v.attrs[:0]} }

// Attrs yields the attributes, in the order in which they were added. Key and value refer to the buffer of the view.
func (v *View) Attrs(yield func(key []byte, value AttrValue) bool) {
	for b := v.attrs; len(b) > 0; {
		key, value, rest, ok := NextAttr(b)
		if !ok || !yield(key, value) {
			return
		}
		b = rest
	}
}

// AddText adds an attribute whose value is a text.
func (v *View) AddText(key, value []byte) {
	v.attrs = appendText(append(appendText(v.attrs, key), kindText), value)
}

// EncodedAttrs returns the encoding of the attributes, which refers to the buffer of the view.
func (v *View) EncodedAttrs() []byte { return v.attrs }

// AddEncodedAttrs adds attributes whose encoding another view returned. It copies them.
func (v *View) AddEncodedAttrs(attrs []byte) { v.attrs = append(v.attrs, attrs...) }

// SetEncodedAttrs replaces the attributes by others, and keeps their encoding without copying it.
func (v *View) SetEncodedAttrs(attrs []byte) { v.attrs = attrs }

// AttrText returns the text of the first attribute with a key, if its value is a text or JSON. The text refers to the buffer of the view.
func (v *View) AttrText(key string) (text []byte, ok bool) {
	value, _, ok := FindAttr(v.attrs, key)
	if !ok {
		return nil, false
	}
	return value.Text()
}

// AddAttr adds an attribute; a group adds its members, each with the group's key before its own.
func (v *View) AddAttr(a slog.Attr) { v.attrs = AppendAttr(v.attrs, "", a) }

func appendText[T string | []byte](data []byte, text T) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

func cutText(b []byte) (text, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 { // most texts are this short
		if n := 1 + int(b[0]); n <= len(b) {
			return b[1:n:n], b[n:], true
		}
		return nil, nil, false
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}

func textLen(n int) int { return uvarintLen(uint64(n)) + n }

func uvarintLen(x uint64) int {
	n := 1
	for ; x >= 0x80; x >>= 7 {
		n++
	}
	return n
}

func varintLen(x int64) int { return uvarintLen(uint64(x)<<1 ^ uint64(x>>63)) }

// NextAttr returns the first of some encoded attributes, which [View.EncodedAttrs] has returned, and the rest of them; ok is false
// if it is damaged.
func NextAttr(encoded []byte) (key []byte, value AttrValue, rest []byte, ok bool) {
	key, b, ok := cutText(encoded)
	if !ok || len(b) == 0 {
		return nil, AttrValue{}, nil, false
	}
	value.kind = b[0]
	switch b = b[1:]; value.kind {
	case kindText, kindJSON:
		value.text, b, ok = cutText(b)
	case kindInt, kindDuration, kindTime:
		n, size := binary.Varint(b)
		if ok = size > 0; ok {
			value.bits, b = uint64(n), b[size:]
		}
	case kindUint:
		n, size := binary.Uvarint(b)
		if ok = size > 0; ok {
			value.bits, b = n, b[size:]
		}
	case kindFloat:
		if ok = len(b) >= 8; ok {
			value.bits, b = binary.LittleEndian.Uint64(b), b[8:]
		}
	case kindTrue, kindFalse:
	default:
		ok = false
	}
	return key, value, b, ok
}
