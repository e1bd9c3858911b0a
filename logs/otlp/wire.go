package otlp

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("malformed protobuf")

// A field is a field of a protobuf message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64 // of a number
	data   []byte // of a text, bytes or a message
}

// next reads the field at the beginning of a message, and returns the rest of the message.
func next(b []byte) (f field, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, errMalformed
	}
	f.number, f.kind, b = number, kind, b[n:]
	switch kind {
	case protowire.VarintType:
		f.bits, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.bits, n = protowire.ConsumeFixed64(b)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(b)
		f.bits = uint64(bits)
	case protowire.BytesType:
		f.data, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return f, nil, errMalformed
	}
	return f, b[n:], nil
}

// is reports whether the field has this number and type. Callers ignore other fields, since newer versions of the protocol may add some.
func (f *field) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

func (f *field) message(number protowire.Number) bool { return f.is(number, protowire.BytesType) }

// The functions below append fields. appendText leaves out an empty text.

func appendBytes[T string | []byte](b []byte, number protowire.Number, data T) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return append(protowire.AppendVarint(b, uint64(len(data))), data...)
}

func appendText[T string | []byte](b []byte, number protowire.Number, text T) []byte {
	if len(text) == 0 {
		return b
	}
	return appendBytes(b, number, text)
}

func appendVarint(b []byte, number protowire.Number, x uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), x)
}

func appendFixed64(b []byte, number protowire.Number, x uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), x)
}

func appendFixed32(b []byte, number protowire.Number, x uint64) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), uint32(x))
}

// beginField and endField turn the message that is appended between them into a field. One byte is reserved for its length; the message is
// moved if the length needs more.
func beginField(b []byte, number protowire.Number) (_ []byte, at int) {
	b = append(protowire.AppendTag(b, number, protowire.BytesType), 0)
	return b, len(b)
}

func endField(b []byte, at int) []byte {
	size := len(b) - at
	if size < 0x80 {
		b[at-1] = byte(size)
		return b
	}
	more := protowire.SizeVarint(uint64(size)) - 1
	for range more {
		b = append(b, 0)
	}
	copy(b[at+more:], b[at:at+size])
	protowire.AppendVarint(b[:at-1], uint64(size))
	return b
}
