package segment

import (
	"encoding/binary"
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/logs"
)

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

// cutTexts parses n lengths, and n texts after them, to the end.
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
