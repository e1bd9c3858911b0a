package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads a string. It returns the text between the quotes, and whether that has escapes: see [Unescape].
func (s *Scanner) String() (raw []byte, escaped bool, err error) {
	if !s.Take('"') {
		return nil, false, errText
	}
	text := s.data[s.at:]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			s.at += i + 1
			return text[:i], escaped, nil
		case '\\':
			escaped = true
			i++
		}
	}
	s.at = len(s.data)
	return nil, false, errOpen
}

// Unescape appends the content of a string with its escapes decoded.
func Unescape(to, raw []byte) ([]byte, error) {
	for len(raw) > 0 {
		if raw[0] != '\\' {
			to, raw = append(to, raw[0]), raw[1:]
			continue
		}
		r, size := escape(raw)
		if size == 0 {
			return nil, errEscape
		}
		to, raw = utf8.AppendRune(to, r), raw[size:]
	}
	return to, nil
}

func validEscapes(raw []byte) bool {
	for i := bytes.IndexByte(raw, '\\'); i >= 0; i = bytes.IndexByte(raw, '\\') {
		_, size := escape(raw[i:])
		if size == 0 {
			return false
		}
		raw = raw[i+size:]
	}
	return true
}

// escape returns the character of an escape, and the length of the escape, which is zero if it is invalid.
func escape(raw []byte) (r rune, size int) {
	if len(raw) < 2 {
		return 0, 0
	}
	switch c := raw[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex(raw[2:])
		if !ok {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(raw) > 7 && raw[6] == '\\' && raw[7] == 'u' {
			if low, ok := hex(raw[8:]); ok {
				if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
					return whole, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return 0, 0
}

// hex reads four hexadecimal digits.
func hex(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
