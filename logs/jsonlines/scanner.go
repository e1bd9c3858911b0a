package jsonlines

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner goes through JSON. In texts it lets control characters and invalid UTF-8 pass: who wrote a line has lost enough.
type scanner struct {
	data []byte
	at   int
}

var (
	errOpen    = errors.New("a text has no end")
	errEscape  = errors.New("an unknown escape")
	errNesting = errors.New("too many objects in objects")
)

func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.at < len(s.data) && isSpace(s.data[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// empty reports whether an object without fields comes next.
func (s *scanner) empty() bool {
	at := s.at + 1
	for at < len(s.data) && isSpace(s.data[at]) {
		at++
	}
	return at < len(s.data) && s.data[at] == '}'
}

func (s *scanner) word(word string) bool {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// string takes a text, and says whether it has escapes.
func (s *scanner) string() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, errors.New("no text where one belongs")
	}
	from := s.at
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '"':
			s.at++
			return s.data[from : s.at-1], escaped, nil
		case '\\':
			escaped = true
			s.at++
		}
	}
	s.at = len(s.data)
	return nil, false, errOpen
}

// number takes a number, or nothing.
func (s *scanner) number() []byte {
	from := s.at
	s.take('-')
	if !s.take('0') && !s.digits() {
		s.at = from
		return nil
	}
	if s.take('.') && !s.digits() {
		return nil
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return nil
		}
	}
	return s.data[from:s.at]
}

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.data) && s.data[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > from
}

// skip takes a value, which is in so many others.
func (s *scanner) skip(depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	switch c := s.peek(); {
	case c == '"':
		raw, escaped, err := s.string()
		if err == nil && escaped {
			_, err = unescape(nil, raw)
		}
		return err
	case c == '{', c == '[':
		return s.skipAll(c, depth)
	case c == 't' && s.word("true"), c == 'f' && s.word("false"), c == 'n' && s.word("null"):
		return nil
	}
	if s.number() == nil {
		return errors.New("no value")
	}
	return nil
}

// skipAll takes an object or an array.
func (s *scanner) skipAll(open byte, depth int) error {
	end := open + 2 // } is two after {, and ] two after [
	s.at++
	if s.space(); s.take(end) {
		return nil
	}
	for {
		s.space()
		if open == '{' {
			if _, _, err := s.string(); err != nil {
				return err
			}
			if s.space(); !s.take(':') {
				return errors.New("no colon after a key")
			}
			s.space()
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		if s.space(); s.take(end) {
			return nil
		}
		if !s.take(',') {
			return errors.New("no comma after a value")
		}
	}
}

// unescape appends a text without its escapes.
func unescape(to, raw []byte) ([]byte, error) {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			to = append(to, c)
			continue
		}
		if i++; i == len(raw) {
			return nil, errEscape
		}
		switch raw[i] {
		case '"', '\\', '/':
			to = append(to, raw[i])
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		case 'u':
			r, ok := hex(raw[i+1:])
			if !ok {
				return nil, errEscape
			}
			i += 4
			if utf16.IsSurrogate(r) {
				r2 := rune(-1)
				if len(raw) > i+2 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					r2, _ = hex(raw[i+3:])
				}
				if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
					i += 6
				}
			}
			to = utf8.AppendRune(to, r)
		default:
			return nil, errEscape
		}
	}
	return to, nil
}

// hex reads four hexadecimal digits.
func hex(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return -1, false
	}
	for _, c := range text[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
