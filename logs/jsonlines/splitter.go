package jsonlines

import (
	"bytes"
	"errors"
	"io"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

var (
	errTooLong = errors.New("a line is too long")
	errArray   = errors.New("neither an object nor the end of the array")
)

// A splitter splits a body into lines, or into objects, which may be in an array.
type splitter struct {
	reader io.Reader
	values bool // whether it splits into objects, which may have several lines
	line   int  // the number of the line at which the last result of next starts

	buf      []byte
	from, to int   // the part of the buffer that was not returned yet
	broken   error // of the reader, such as io.EOF
	lines    int   // line feeds before from
	array    array
}

// An array is the position of a splitter in an array.
type array byte

const (
	noArray array = iota
	opened
	afterValue
	closed
)

// newSplitter returns a splitter of a body into objects. Without values, it splits into lines, unless the body begins like an array of objects.
func newSplitter(r io.Reader, values bool) *splitter {
	s := &splitter{reader: r, buf: make([]byte, 16<<10)}
	if at := s.find(0); at >= 0 && s.buf[at] == '[' {
		if first := s.find(at + 1); values || first >= 0 && (s.buf[first] == '{' || s.buf[first] == ']') {
			s.skip(at + 1)
			s.array = opened
		}
	}
	s.values = values || s.array == opened
	return s
}

// next returns the next line that is not blank, or the next object. It is valid until the next call. At the end it returns io.EOF.
func (s *splitter) next() ([]byte, error) {
	if s.values {
		return s.nextValue()
	}
	for {
		var end, size int
		for seen := s.from; ; {
			if i := bytes.IndexByte(s.buf[seen:s.to], '\n'); i >= 0 {
				end, size = seen+i, 1
				break
			}
			seen = s.to - s.from
			if !s.fill() {
				end = s.to
				break
			}
			seen += s.from
		}
		frame := bytes.TrimRight(s.buf[s.from:end], "\r")
		s.line = s.lines + 1
		switch {
		case len(frame) > MaxLine, size == 0 && s.broken == nil:
			return nil, errTooLong
		case size == 0 && !errors.Is(s.broken, io.EOF):
			return nil, s.broken
		case size == 0 && len(bytes.TrimSpace(frame)) == 0:
			return nil, io.EOF
		}
		s.skip(end + size)
		if len(bytes.TrimSpace(frame)) > 0 {
			return frame, nil
		}
	}
}

func (s *splitter) nextValue() ([]byte, error) {
	for {
		at := s.find(s.from)
		if at < 0 {
			s.line = s.lines + 1
			if errors.Is(s.broken, io.EOF) && (s.array == opened || s.array == afterValue) {
				return nil, errors.New("an array has no end")
			}
			return nil, s.broken
		}
		s.skip(at)
		s.line = s.lines + 1
		switch c := s.buf[at]; {
		case s.array == closed:
			return nil, errors.New("more follows the array")
		case c == ']' && s.array != noArray:
			s.array = closed
		case c == ',' && s.array == afterValue:
			if at = s.find(at + 1); at < 0 || s.buf[at] != '{' {
				return nil, errArray
			}
			s.skip(at)
			s.array = opened
			continue
		case c == '{' && s.array != afterValue:
			return s.object()
		default:
			return nil, errArray
		}
		s.skip(at + 1)
	}
}

// object returns the next object, which ends where all brackets are closed. The decoder checks whether it is valid.
func (s *splitter) object() ([]byte, error) {
	var nesting jsonscan.Nesting
	for i := 0; ; {
		for i == s.to-s.from {
			if i > MaxLine {
				return nil, errTooLong
			}
			if !s.fill() {
				if errors.Is(s.broken, io.EOF) {
					return nil, errors.New("an object has no end")
				}
				return nil, s.broken
			}
		}
		size, ended := nesting.End(s.buf[s.from+i : s.to])
		if i += size; !ended {
			continue
		}
		if i > MaxLine {
			return nil, errTooLong
		}
		frame := s.buf[s.from : s.from+i]
		s.skip(s.from + i)
		if s.array != noArray {
			s.array = afterValue
		}
		return frame, nil
	}
}

// find returns the index of the first byte from at on that is not white space, or -1 if there is none within the length of the longest line.
func (s *splitter) find(at int) int {
	for {
		for ; at < s.to; at++ {
			if !jsonscan.IsSpace(s.buf[at]) {
				return at
			}
		}
		if s.values && at > s.from { // white space between values is not kept
			s.skip(at)
		}
		at -= s.from
		if !s.fill() {
			return -1
		}
		at += s.from
	}
}

// skip removes everything before an index from the buffer.
func (s *splitter) skip(to int) {
	s.lines += bytes.Count(s.buf[s.from:to], []byte{'\n'})
	s.from = to
}

// fill reads more of the body, and reports whether it got any. It gets none at the end of the body, or if the buffer is as full as the longest
// line.
func (s *splitter) fill() bool {
	if s.to-s.from > MaxLine+1 { // with a carriage return
		return false
	}
	if s.from > 0 {
		s.to = copy(s.buf, s.buf[s.from:s.to])
		s.from = 0
	}
	if s.to == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		if s.broken != nil {
			return false
		}
		var n int
		if n, s.broken = s.reader.Read(s.buf[s.to:]); n > 0 {
			s.to += n
			return true
		}
	}
	s.broken = io.ErrNoProgress
	return false
}
