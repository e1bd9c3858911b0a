package logs

import (
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// An AttrValue is the value of an attribute. If it is a text or JSON, it refers to the buffer of a [View].
type AttrValue struct {
	text []byte
	bits uint64
	kind byte
}

// Value returns a copy of the value. If slog has no kind for it, it is a json.RawMessage.
func (a AttrValue) Value() slog.Value {
	switch a.kind {
	case kindInt:
		return slog.Int64Value(int64(a.bits))
	case kindUint:
		return slog.Uint64Value(a.bits)
	case kindFloat:
		return slog.Float64Value(math.Float64frombits(a.bits))
	case kindTrue, kindFalse:
		return slog.BoolValue(a.kind == kindTrue)
	case kindDuration:
		return slog.DurationValue(time.Duration(a.bits))
	case kindTime:
		return slog.TimeValue(time.Unix(0, int64(a.bits)).UTC())
	case kindJSON:
		return slog.AnyValue(json.RawMessage(append([]byte(nil), a.text...)))
	}
	return slog.StringValue(string(a.text))
}

// Kind returns the kind that [AttrValue.Value] has: slog.KindAny is JSON.
func (a AttrValue) Kind() slog.Kind {
	switch a.kind {
	case kindInt:
		return slog.KindInt64
	case kindUint:
		return slog.KindUint64
	case kindFloat:
		return slog.KindFloat64
	case kindTrue, kindFalse:
		return slog.KindBool
	case kindDuration:
		return slog.KindDuration
	case kindTime:
		return slog.KindTime
	case kindJSON:
		return slog.KindAny
	}
	return slog.KindString
}

// Int64 returns an integer, the nanoseconds of a duration, or those of a time since 1970. For other kinds the result is
// meaningless.
func (a AttrValue) Int64() int64 { return int64(a.bits) }

// Text returns the text in the buffer of a value that is a text or JSON; ok is false for other kinds.
func (a AttrValue) Text() (text []byte, ok bool) {
	return a.text, a.kind == kindText || a.kind == kindJSON
}

// AppendText appends the value in a form for people: numbers in decimal, durations as Go writes them, times in RFC 3339.
func (a AttrValue) AppendText(b []byte) []byte {
	switch a.kind {
	case kindInt:
		return strconv.AppendInt(b, int64(a.bits), 10)
	case kindUint:
		return strconv.AppendUint(b, a.bits, 10)
	case kindFloat:
		return appendFloat(b, math.Float64frombits(a.bits))
	case kindTrue, kindFalse:
		return strconv.AppendBool(b, a.kind == kindTrue)
	case kindDuration:
		return append(b, time.Duration(a.bits).String()...)
	case kindTime:
		return time.Unix(0, int64(a.bits)).UTC().AppendFormat(b, time.RFC3339Nano)
	}
	return append(b, a.text...)
}

// appendFloat writes an integral float like an integer, so that 5 and 5.0 have the same text.
func appendFloat(b []byte, f float64) []byte {
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// Number returns the value of a number, or of a duration in seconds; ok is false for other kinds.
func (a AttrValue) Number() (n float64, ok bool) {
	switch a.kind {
	case kindInt:
		return float64(int64(a.bits)), true
	case kindUint:
		return float64(a.bits), true
	case kindFloat:
		return math.Float64frombits(a.bits), true
	case kindDuration:
		return time.Duration(a.bits).Seconds(), true
	}
	return 0, false
}

// Bounds of a group. The LogValue of a member may return the group that it is in, and so on endlessly.
const (
	maxGroupDepth = 100            // groups within groups
	maxGroupBytes = 16 * MaxRecord // of an encoded group; members after these bytes are left out
)

// AppendAttr appends an encoded attribute, as [View.Append] describes it, with prefix before its key. A group becomes its
// members; empty attributes are left out, as slog's own handlers do. A group that is nested in a hundred others is replaced by an
// error text.
func AppendAttr(data []byte, prefix string, a slog.Attr) []byte {
	return appendMember(data, len(data)+maxGroupBytes, 0, prefix, a)
}

// appendMember appends an attribute that is nested in depth groups. It stops appending members of a group once data is longer than most.
func appendMember(data []byte, most, depth int, prefix string, a slog.Attr) []byte {
	value := a.Value
	kind := value.Kind()
	if kind == slog.KindLogValuer {
		value = value.Resolve()
		kind = value.Kind()
	}
	if kind == slog.KindGroup && depth == maxGroupDepth {
		return appendKind(data, prefix, a.Key, slog.KindString, slog.StringValue("!ERROR: a group in too many groups"))
	}
	if kind == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range value.Group() {
			if len(data) > most {
				break
			}
			data = appendMember(data, most, depth+1, prefix, member)
		}
		return data
	}
	if a.Key == "" && kind == slog.KindAny && value.Any() == nil {
		return data
	}
	return appendKind(data, prefix, a.Key, kind, value)
}

// appendKind is AppendAttr for a value that is neither a group nor a slog.LogValuer.
func appendKind(data []byte, prefix, key string, kind slog.Kind, value slog.Value) []byte {
	data = binary.AppendUvarint(data, uint64(len(prefix)+len(key)))
	data = append(append(data, prefix...), key...)
	switch kind {
	case slog.KindString:
		return appendText(append(data, kindText), value.String())
	case slog.KindInt64:
		return binary.AppendVarint(append(data, kindInt), value.Int64())
	case slog.KindUint64:
		return binary.AppendUvarint(append(data, kindUint), value.Uint64())
	case slog.KindFloat64:
		return binary.LittleEndian.AppendUint64(append(data, kindFloat), math.Float64bits(value.Float64()))
	case slog.KindBool:
		if value.Bool() {
			return append(data, kindTrue)
		}
		return append(data, kindFalse)
	case slog.KindDuration:
		return binary.AppendVarint(append(data, kindDuration), int64(value.Duration()))
	case slog.KindTime:
		at := value.Time()
		nanoseconds := at.UnixNano()
		if !time.Unix(0, nanoseconds).Equal(at) { // 64 bits cannot hold it, as is the case for the zero time
			return appendText(append(data, kindText), at.UTC().Format(time.RFC3339Nano))
		}
		return binary.AppendVarint(append(data, kindTime), nanoseconds)
	}
	return appendAny(data, value.Any())
}

// FindAttr returns the value of the first attribute with a key among encoded attributes, which [View.EncodedAttrs] has returned, and
// the attributes after it. It does not decode the values of other attributes.
func FindAttr(encoded []byte, key string) (value AttrValue, rest []byte, ok bool) {
	for b := encoded; len(b) > 0; {
		n := int(b[0])
		if n >= 0x80 || n+2 > len(b) || n == len(key) {
			name, value, rest, ok := NextAttr(b)
			if !ok || string(name) == key {
				return value, rest, ok
			}
			b = rest
			continue
		}
		if b = passValue(b[n+1:]); b == nil {
			break
		}
	}
	return AttrValue{}, nil, false
}

// passValue returns the bytes after an encoded kind and value, or nil if these are damaged.
func passValue(b []byte) []byte {
	kind, b := b[0], b[1:]
	switch kind {
	case kindText, kindJSON:
		_, rest, ok := cutText(b)
		if !ok {
			return nil
		}
		return rest
	case kindInt, kindUint, kindDuration, kindTime:
		for i, c := range b[:min(len(b), 10)] {
			if c < 0x80 {
				return b[i+1:]
			}
		}
		return nil
	case kindFloat:
		if len(b) < 8 {
			return nil
		}
		return b[8:]
	case kindTrue, kindFalse:
		return b
	}
	return nil
}

// TextValue returns a value that is a text or JSON. It refers to text without copying it.
func TextValue(text []byte, isJSON bool) AttrValue {
	if isJSON {
		return AttrValue{kind: kindJSON, text: text}
	}
	return AttrValue{kind: kindText, text: text}
}

// BitsValue returns a value of a kind other than text and JSON. bits is 1 or 0 for a boolean, the bits of a float, and for any other kind
// the result of [AttrValue.Int64].
func BitsValue(kind slog.Kind, bits uint64) AttrValue {
	a := AttrValue{bits: bits}
	switch kind {
	case slog.KindInt64:
		a.kind = kindInt
	case slog.KindUint64:
		a.kind = kindUint
	case slog.KindFloat64:
		a.kind = kindFloat
	case slog.KindDuration:
		a.kind = kindDuration
	case slog.KindTime:
		a.kind = kindTime
	default:
		if a.kind = kindFalse; bits != 0 {
			a.kind = kindTrue
		}
		a.bits = 0
	}
	return a
}

// Bits returns the bits from which [BitsValue] creates the value. For a text or JSON it returns zero.
func (a AttrValue) Bits() uint64 {
	if a.kind == kindTrue {
		return 1
	}
	return a.bits
}

// AppendEncoded appends the kind and the value in the form in which they follow the key of an encoded attribute.
func (a AttrValue) AppendEncoded(b []byte) []byte {
	b = append(b, a.kind)
	switch a.kind {
	case kindText, kindJSON:
		return appendText(b, a.text)
	case kindInt, kindDuration, kindTime:
		return binary.AppendVarint(b, int64(a.bits))
	case kindUint:
		return binary.AppendUvarint(b, a.bits)
	case kindFloat:
		return binary.LittleEndian.AppendUint64(b, a.bits)
	}
	return b
}

// EncodedLen returns how many bytes AppendEncoded appends.
func (a AttrValue) EncodedLen() int {
	switch a.kind {
	case kindText, kindJSON:
		return 1 + textLen(len(a.text))
	case kindInt, kindDuration, kindTime:
		return 1 + varintLen(int64(a.bits))
	case kindUint:
		return 1 + uvarintLen(a.bits)
	case kindFloat:
		return 9
	}
	return 1
}
