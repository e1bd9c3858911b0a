package logs

import (
	"bytes"
	"strconv"
	"time"
)

// repeats leaves out lines that are, but for their time, the line before. A raw line goes on up to the next one that begins with a
// time.
type repeats struct {
	last  []byte // what follows the time of the last line
	stamp []byte // the time of the newest repeat
	n     int
}

// append appends those lines that are no repeats, and before the first other line how many were.
func (r *repeats) append(b, lines []byte) (out []byte, culled int) {
	for len(lines) > 0 {
		end := lineEnd(lines)
		line := lines[:end]
		lines = lines[end:]
		if bytes.Equal(line[stampLen:], r.last) {
			r.n++
			culled++
			r.stamp = append(r.stamp[:0], line[:stampLen]...)
			continue
		}
		b = r.count(b)
		b = append(b, line...)
		r.last = append(r.last[:0], line[stampLen:]...)
	}
	return b, culled
}

// lineEnd returns where the line at the beginning of some ends, behind its line feed.
func lineEnd(lines []byte) int {
	end := bytes.IndexByte(lines, '\n') + 1
	for end < len(lines) && !stamped(lines[end:]) {
		end += bytes.IndexByte(lines[end:], '\n') + 1
	}
	return end
}

// stamped reports whether a text begins as a line does.
func stamped(text []byte) bool {
	const form = "0000/00/00 00:00:00|"
	if len(text) < len(form) {
		return false
	}
	for i := range len(form) {
		if c := form[i]; c == '0' && !isDigit(text[i]) || c != '0' && text[i] != c {
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

// rest returns what follows the first n bars of the last line.
func (r *repeats) rest(n int) []byte {
	rest := r.last
	for range n {
		rest = rest[bytes.IndexByte(rest, '|')+1:]
	}
	return rest
}

// end ends an interval: repeats are told, and the next line is a first one.
func (r *repeats) end(b []byte, now time.Time) []byte {
	if r.n > 0 {
		r.stamp = now.AppendFormat(r.stamp[:0], "2006/01/02 15:04:05")
		b = r.count(b)
	}
	r.last = r.last[:0]
	return b
}
