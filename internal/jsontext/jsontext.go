// Package jsontext writes texts and values as JSON that is safe to show in a terminal, in one line.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends a text as a JSON string. It escapes characters that could change a terminal, or the order of the text, and replaces bytes that
// are not UTF-8.
func AppendString[T string | []byte](b []byte, text T) []byte {
	b = append(b, '"')
	plain := 0 // offset of the text that is not appended yet
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, text[plain:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, `\n`...)
			case '\t':
				b = append(b, `\t`...)
			case '\r':
				b = append(b, `\r`...)
			default:
				b = fmt.Appendf(b, `\u%04x`, c)
			}
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(len(text), i+utf8.UTFMax)]))
		if r == utf8.RuneError && size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			b = appendEscaped(append(b, text[plain:i]...), r)
			plain = i + size
		}
		i += size
	}
	return append(append(b, text[plain:]...), '"')
}

func appendEscaped(b []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}

// AppendRaw appends JSON in one line, with the same escapes in its strings. Text that is not JSON becomes a string.
func AppendRaw(b []byte, raw json.RawMessage) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return AppendString(b, string(raw))
	}
	for text := compact.Bytes(); len(text) > 0; { // characters beyond ASCII, and DEL, can only be in strings
		r, size := utf8.DecodeRune(text)
		if r == 0x7f || r >= 0x80 && (size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)) {
			b = appendEscaped(b, r)
		} else {
			b = append(b, text[:size]...)
		}
		text = text[size:]
	}
	return b
}

// IsSafe reports whether a text is JSON in one line that can be shown as it is.
func IsSafe(text []byte) bool {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return false
		}
		i += size
	}
	return json.Valid(text)
}
