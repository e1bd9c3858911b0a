package linefile

import (
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendPrintable appends a text so that it stays on its line and does not affect a terminal: control characters and bytes that are
// not UTF-8 are escaped as in Go's string literals. Backslashes are not escaped.
func appendPrintable(b, text []byte) []byte {
	n := plainPrefix(text)
	b = append(b, text[:n]...)
	for text = text[n:]; len(text) > 0; {
		c := text[0]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text)
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			case r < 0xa0: // C1
				b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
			default:
				b = append(b, text[:size]...)
			}
			text = text[size:]
			continue
		}
		switch {
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			n := max(plainPrefix(text), 1)
			b = append(b, text[:n]...)
			text = text[n:]
			continue
		}
		text = text[1:]
	}
	return b
}

// plainPrefix returns the length of a prefix that is printable ASCII, as a multiple of 32.
func plainPrefix(text []byte) int {
	n := 0
	for ; len(text)-n >= 32; n += 32 {
		b := text[n : n+32]
		if (special(b[0:])|special(b[8:])|special(b[16:])|special(b[24:]))&highs != 0 {
			break
		}
	}
	for ; len(text)-n >= 8; n += 8 {
		if special(text[n:])&highs != 0 {
			break
		}
	}
	for n < len(text) && text[n] >= ' ' && text[n] < 0x7f {
		n++
	}
	return n
}

const ones, highs = 0x0101010101010101, 0x8080808080808080

// special returns a word with a high bit set if one of eight bytes is below ' ', is 0x7f, to which adding one makes 0x80, or is 0x80 or
// above.
func special(b []byte) uint64 {
	x := binary.LittleEndian.Uint64(b)
	return (x - ones*' ') | (x + ones) | x
}
