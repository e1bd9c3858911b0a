// Package jsonscan reads JSON where it lies, without allocating. It is the only tokenizer beside encoding/json: for input that has to be read
// fast, or whose values are taken apart before they are decoded.
//
// It accepts what RFC 8259 does, and in strings what is not allowed there, but found in logs: control characters, and bytes that are
// no UTF-8, come out as they are. Who keeps them repairs them. Of an escaped surrogate without its other half comes U+FFFD, as from
// encoding/json. Names of objects may repeat.
//
// It has no limit of its own for sizes, as what it reads is in memory; and for nesting the one that a caller of [Scanner.Skip] gives.
package jsonscan

import "errors"

// A Scanner goes through a text, token by token.
type Scanner struct {
	data []byte
	at   int
}

// New returns a scanner at the beginning of a text.
func New(text []byte) Scanner { return Scanner{data: text} }

// Errors of what is read. ErrNesting is that of values in too many others.
var (
	ErrNesting = errors.New("too many objects in objects")

	errOpen   = errors.New("a text has no end")
	errEscape = errors.New("an unknown escape")
	errText   = errors.New("no text where one belongs")
	errValue  = errors.New("no value")
	errColon  = errors.New("no colon after a key")
	errComma  = errors.New("no comma after a value")
)

// Offset returns how many bytes were read.
func (s *Scanner) Offset() int { return s.at }

// Since returns what was read from an offset on.
func (s *Scanner) Since(from int) []byte { return s.data[from:s.at] }

// AtEnd reports whether all was read.
func (s *Scanner) AtEnd() bool { return s.at >= len(s.data) }

// Peek returns the next byte, 0 at the end.
func (s *Scanner) Peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// Take reads a byte if it comes next, and reports whether it did.
func (s *Scanner) Take(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

// Space reads white space, if there is any. Mostly there is none, which costs no call.
func (s *Scanner) Space() {
	if s.at < len(s.data) && s.data[s.at] <= ' ' {
		s.spaces()
	}
}

func (s *Scanner) spaces() {
	for s.at < len(s.data) && IsSpace(s.data[s.at]) {
		s.at++
	}
}

// IsSpace reports whether a byte is white space of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Empty reports whether an object without fields comes next.
func (s *Scanner) Empty() bool {
	at := s.at + 1
	for at < len(s.data) && IsSpace(s.data[at]) {
		at++
	}
	return at < len(s.data) && s.data[at] == '}'
}

// Word reads a word such as "true" if it comes next, and reports whether it did.
func (s *Scanner) Word(word string) bool {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// Number reads a number. It returns nil when none comes next.
func (s *Scanner) Number() []byte {
	from := s.at
	s.Take('-')
	if !s.Take('0') && !s.digits() {
		s.at = from
		return nil
	}
	if s.Take('.') && !s.digits() {
		return nil
	}
	if s.Take('e') || s.Take('E') {
		if !s.Take('+') {
			s.Take('-')
		}
		if !s.digits() {
			return nil
		}
	}
	return s.data[from:s.at]
}

func (s *Scanner) digits() bool {
	text, i := s.data[s.at:], 0
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	s.at += i
	return i > 0
}

// Skip reads a value whatever it is. So many objects and arrays that are not empty may be in each other.
func (s *Scanner) Skip(levels int) error {
	if levels < 0 {
		return ErrNesting
	}
	switch c := s.Peek(); {
	case c == '"':
		return s.skipString()
	case c == '{', c == '[':
		return s.skipAll(c, levels)
	case c == 't' && s.Word("true"), c == 'f' && s.Word("false"), c == 'n' && s.Word("null"):
		return nil
	}
	if s.Number() == nil {
		return errValue
	}
	return nil
}

// skipAll reads an object or an array.
func (s *Scanner) skipAll(open byte, levels int) error {
	end := open + 2 // } is two after {, and ] two after [
	s.at++
	if s.Space(); s.Take(end) {
		return nil
	}
	for {
		s.Space()
		if open == '{' {
			if err := s.skipString(); err != nil {
				return err
			}
			if s.Space(); !s.Take(':') {
				return errColon
			}
			s.Space()
		}
		if err := s.Skip(levels - 1); err != nil {
			return err
		}
		if s.Space(); s.Take(end) {
			return nil
		}
		if !s.Take(',') {
			return errComma
		}
	}
}

func (s *Scanner) skipString() error {
	raw, escaped, err := s.String()
	if err == nil && escaped && !validEscapes(raw) {
		err = errEscape
	}
	return err
}
