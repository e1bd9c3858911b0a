// Package jsonscan reads JSON in place, without allocating. It is the module's only JSON tokenizer besides encoding/json, for input that has to be
// read fast, or whose values are split before they are decoded.
//
// It accepts what RFC 8259 allows and, in strings, some things that are not allowed but found in logs: it returns control characters, and bytes that
// are not UTF-8, as they are, and its callers repair those that they keep. An escaped surrogate without its other half becomes U+FFFD, as in
// encoding/json. Names of objects may repeat.
//
// It does not limit sizes, as its input is in memory. The nesting is limited by the callers of [Scanner.Skip].
package jsonscan

import "errors"

// A Scanner reads a text token by token.
type Scanner struct {
	data []byte
	at   int
}

// New returns a scanner for a text.
func New(text []byte) Scanner { return Scanner{data: text} }

// Errors of invalid input. ErrNesting is the error of values that are nested too deeply.
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

// Since returns the text from an offset up to the current one.
func (s *Scanner) Since(from int) []byte { return s.data[from:s.at] }

// AtEnd reports whether the whole text was read.
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

// Space skips white space. If there is none, which is the usual case, it costs no call.
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

// Empty reports whether an empty object comes next.
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

// Number reads a number. It returns nil if none comes next.
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

// Skip reads a value of any type. It fails if more than levels non-empty objects and arrays are nested in it.
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
