package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// writeJSON writes a value as a line of JSON. In addition to what encoding/json escapes, it escapes characters that would affect a terminal.
func writeJSON(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	line := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	if _, err := w.Write(append(escape(line), '\n')); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// escape escapes characters that are not printable; in JSON they can only be in strings.
func escape(text []byte) []byte {
	plain := func(r rune) bool { return r >= ' ' && r < 0x7f || r > 0x7f && unicode.IsPrint(r) }
	if bytes.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	escaped := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case plain(r):
			escaped = append(escaped, text[:size]...)
		case r > 0xffff:
			r -= 0x10000
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		text = text[size:]
	}
	return escaped
}
