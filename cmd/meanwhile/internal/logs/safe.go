package logs

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// safe returns a text in which all characters that could affect a terminal, or the order of its text, are escaped.
func safe(text string) string { return string(appendSafe(nil, text, "")) }

// appendSafe appends a text escaped as by safe, except for the characters in kept.
func appendSafe(b []byte, text, kept string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, `\x`...)
			b = append(b, "0123456789abcdef"[text[0]>>4], "0123456789abcdef"[text[0]&15])
		case strconv.IsPrint(r) || strings.ContainsRune(kept, r):
			b = append(b, text[:size]...)
		default:
			quoted := strconv.QuoteRune(r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		text = text[size:]
	}
	return b
}

// appendValue appends a text as one word, quoted if necessary.
func appendValue(b []byte, text string) []byte {
	bare := text != ""
	for _, r := range text {
		if r == ' ' || r == '"' || r == '=' || r == '\\' || r == utf8.RuneError || !strconv.IsPrint(r) {
			bare = false
			break
		}
	}
	if bare {
		return append(b, text...)
	}
	return strconv.AppendQuote(b, text)
}
