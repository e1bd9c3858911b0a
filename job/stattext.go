package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

// AppendStat appends a row of which a store has the text that json.Marshal wrote. A page of a dashboard reads thousands of them, so that
// a text as Marshal writes it, with plain names, is read without reflection.
func AppendStat(rows []Stat, text string) ([]Stat, error) {
	if len(rows) == cap(rows) {
		rows = slices.Grow(rows, max(len(rows), 64)) // a row has a kilobyte, and append would copy each some five times
	}
	rows = append(rows, Stat{})
	row := &rows[len(rows)-1]
	if row.readPlain(text) {
		return rows, nil
	}
	*row = Stat{}
	if err := json.Unmarshal([]byte(text), row); err != nil {
		return nil, fmt.Errorf("row of stats: %w", err)
	}
	return rows, nil
}

// readPlain reads the text of a row. It reports false for what json.Unmarshal has to read, or to refuse: then the row is of no use.
func (s *Stat) readPlain(text string) bool {
	r := statReader{text: text, Scanner: jsonscan.New([]byte(text))}
	if !r.token('{') {
		return false
	}
	for {
		name, ok := r.name()
		if !ok || !r.token(':') || !s.readField(name, &r) {
			return false
		}
		if r.token('}') {
			r.Space()
			return r.AtEnd()
		}
		if !r.token(',') {
			return false
		}
	}
}

// readField reads the value of a field.
func (s *Stat) readField(name string, r *statReader) (ok bool) {
	if to := s.counter(name); to != nil {
		*to, ok = r.count()
		return ok
	}
	switch name {
	case "minute":
		text, ok := r.name()
		return ok && s.Minute.UnmarshalText([]byte(text)) == nil
	case "worker":
		s.Worker, ok = r.name()
	case "queue":
		s.Queue, ok = r.name()
	case "kind":
		s.Kind, ok = r.name()
	case "wait":
		return s.Wait.read(r)
	case "run":
		return s.Run.read(r)
	}
	return ok
}

// counter returns the number of a name, or nil.
func (s *Stat) counter(name string) *int64 {
	switch name {
	case "span":
		return (*int64)(&s.Span)
	case "completed":
		return &s.Completed
	case "retried":
		return &s.Retried
	case "snoozed":
		return &s.Snoozed
	case "canceled":
		return &s.Canceled
	case "discarded":
		return &s.Discarded
	case "queued":
		return &s.Queued
	case "running":
		return &s.Running
	}
	return nil
}

// A statReader reads the text of a row.
type statReader struct {
	text string
	jsonscan.Scanner
}

// token reads a byte that comes next but for white space.
func (r *statReader) token(c byte) bool {
	r.Space()
	return r.Take(c)
}

// name reads a string of printable ASCII without escapes. It is a part of the text: one of a row is in memory once.
func (r *statReader) name() (string, bool) {
	r.Space()
	raw, escaped, err := r.String()
	if err != nil || escaped {
		return "", false
	}
	for _, c := range raw {
		if c < ' ' || c > '~' {
			return "", false
		}
	}
	end := r.Offset() - 1
	return r.text[end-len(raw) : end], true
}

// count reads a whole number.
func (r *statReader) count() (int64, bool) {
	r.Space()
	n, err := strconv.ParseInt(string(r.Number()), 10, 64)
	return n, err == nil
}

// read reads what MarshalJSON writes.
func (h *Histogram) read(r *statReader) (ok bool) {
	if !r.token('[') {
		return false
	}
	var list [histogramSize + 1]int64
	n := 0
	for end := r.token(']'); !end; end = r.token(']') {
		if n == len(list) || n > 0 && !r.token(',') {
			return false
		}
		if list[n], ok = r.count(); !ok {
			return false
		}
		n++
	}
	return h.fill(list[:n]) == nil
}
