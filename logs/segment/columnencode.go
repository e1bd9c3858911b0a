package segment

import (
	"encoding/binary"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// appendTokens appends the tokens of the records; those of repeated values mostly once.
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

// digits has the value of each hexadecimal digit, and 0xff for other bytes.
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
