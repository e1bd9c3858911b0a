package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AppendStat appends a row of which a store has the text that json.Marshal wrote. It does what append and json.Unmarshal do, and takes much
// less time: an hour of a dashboard is thousands of rows.
func AppendStat(rows []Stat, text string) ([]Stat, error) {
	if len(rows) == cap(rows) {
		rows = slices.Grow(rows, max(len(rows), 64)) // a row has a kilobyte, and append would copy each some five times
	}
	rows = append(rows, Stat{})
	s := &rows[len(rows)-1]
	if r := (statReader{text}); r.stat(s) {
		return rows, nil
	}
	*s = Stat{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("row of stats: %w", err)
	}
	return rows, nil
}

// A statReader reads the JSON of a Stat as json.Marshal writes it, without white space and with plain names. What is written in another way
// it leaves to json.Unmarshal: its methods report whether they knew what they met.
type statReader struct{ rest string }

func (r *statReader) stat(s *Stat) bool {
	if !r.skip('{') {
		return false
	}
	for {
		name, ok := r.text()
		if !ok || !r.skip(':') || !r.field(s, name) {
			return false
		}
		if !r.skip(',') {
			return r.rest == "}"
		}
	}
}

func (r *statReader) field(s *Stat, name string) (ok bool) {
	switch name {
	case "minute":
		s.Minute, ok = r.time()
	case "span":
		var n int64
		n, ok = r.number()
		s.Span = time.Duration(n)
	case "worker":
		s.Worker, ok = r.text()
	case "queue":
		s.Queue, ok = r.text()
	case "kind":
		s.Kind, ok = r.text()
	case "completed":
		s.Completed, ok = r.number()
	case "retried":
		s.Retried, ok = r.number()
	case "snoozed":
		s.Snoozed, ok = r.number()
	case "canceled":
		s.Canceled, ok = r.number()
	case "discarded":
		s.Discarded, ok = r.number()
	case "queued":
		s.Queued, ok = r.number()
	case "running":
		s.Running, ok = r.number()
	case "wait":
		ok = r.histogram(&s.Wait)
	case "run":
		ok = r.histogram(&s.Run)
	}
	return ok
}

func (r *statReader) skip(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// text reads a string of ASCII without escapes.
func (r *statReader) text() (text string, ok bool) {
	if !r.skip('"') {
		return "", false
	}
	end := strings.IndexByte(r.rest, '"')
	if end < 0 {
		return "", false
	}
	text, r.rest = r.rest[:end], r.rest[end+1:]
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return "", false
		}
	}
	return text, true
}

// time reads one of UTC.
func (r *statReader) time() (time.Time, bool) {
	text, ok := r.text()
	if !ok || !strings.HasSuffix(text, "Z") || strings.Contains(text, ",") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

func (r *statReader) number() (n int64, ok bool) {
	end := 0
	for end < len(r.rest) && '0' <= r.rest[end] && r.rest[end] <= '9' {
		end++
	}
	digits := r.rest[:end]
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	r.rest = r.rest[end:]
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

func (r *statReader) histogram(h *Histogram) bool {
	if !r.skip('[') {
		return false
	}
	if r.skip(']') {
		*h = Histogram{}
		return true
	}
	var list [histogramSize + 1]int64
	for i := range list {
		var ok bool
		if list[i], ok = r.number(); !ok {
			return false
		}
		if r.skip(']') {
			return h.fill(list[:i+1]) == nil
		}
		if !r.skip(',') {
			return false
		}
	}
	return false
}
