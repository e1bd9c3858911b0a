package linefile

import (
	"bytes"
	"strconv"
	"time"
)

// repeats deduplicates lines: it leaves out those that equal the line before, except for their time. A raw line with line feeds continues
// up to the next one that begins with a time.
type repeats struct {
	last  []byte // the last line without its time
	stamp []byte // the time of the newest repeat
	n     int
}

// append appends the lines that are not repeats, and before each of them how many repeats there were.
func (r *repeats) append(b, lines []byte) (out []byte, repeated int) {
	width := bytes.IndexByte(lines, '|') // of each time: an output may have lines with other widths, but not in one call
	for len(lines) > 0 {
		end := lineEnd(lines, width)
		line := lines[:end]
		lines = lines[end:]
		if bytes.Equal(line[width:], r.last) {
			r.n++
			repeated++
			r.stamp = append(r.stamp[:0], line[:width]...)
			continue
		}
		b = r.count(b)
		b = append(b, line...)
		r.last = append(r.last[:0], line[width:]...)
	}
	return b, repeated
}

// lineEnd returns the length of the first line, with its line feed.
func lineEnd(lines []byte, width int) int {
	end := bytes.IndexByte(lines, '\n') + 1
	for end < len(lines) && !stamped(lines[end:], width) {
		end += bytes.IndexByte(lines[end:], '\n') + 1
	}
	return end
}

// stamped reports whether a text begins with a time of this width.
func stamped(text []byte, width int) bool {
	if len(text) <= width || text[width] != '|' {
		return false
	}
	for i := range width {
		if c := stampLayout[i]; isStampDigit(c) && !isStampDigit(text[i]) || !isStampDigit(c) && text[i] != c {
			return false
		}
	}
	return true
}

// count appends how many repeats there were.
func (r *repeats) count(b []byte) []byte {
	if r.n == 0 {
		return b
	}
	b = append(b, r.stamp...)
	b = append(b, r.last[:len(r.last)-len(r.rest(3))]...) // |service|severity|
	b = append(b, "Last message repeated "...)
	b = strconv.AppendInt(b, int64(r.n), 10)
	b = append(b, " times\n"...)
	r.n = 0
	return b
}

// rest returns the part of the last line after its first n bars.
func (r *repeats) rest(n int) []byte {
	rest := r.last
	for range n {
		rest = rest[bytes.IndexByte(rest, '|')+1:]
	}
	return rest
}

// end ends an interval: it reports repeats, and the next line is never one.
func (r *repeats) end(b []byte, now time.Time) []byte {
	if r.n > 0 {
		r.stamp = now.AppendFormat(r.stamp[:0], stampLayout[:len(r.stamp)])
		b = r.count(b)
	}
	r.last = r.last[:0]
	return b
}

func isStampDigit(c byte) bool { return '0' <= c && c <= '9' }
