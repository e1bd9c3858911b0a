package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	rest, ok := strings.CutPrefix(text, "{")
	for ok {
		var name string
		if name, rest, ok = cutString(rest); !ok {
			return false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return false
		}
		if rest, ok = s.cutField(name, rest); !ok || rest == "}" {
			return ok
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return false
}

// cutField reads the value of a field at the beginning of a text, and returns what follows.
func (s *Stat) cutField(name, text string) (rest string, ok bool) {
	if to := s.counter(name); to != nil {
		*to, rest, ok = cutCount(text)
		return rest, ok
	}
	switch name {
	case "minute":
		name, rest, ok = cutString(text)
		return rest, ok && s.Minute.UnmarshalText([]byte(name)) == nil
	case "worker":
		s.Worker, rest, ok = cutString(text)
	case "queue":
		s.Queue, rest, ok = cutString(text)
	case "kind":
		s.Kind, rest, ok = cutString(text)
	case "wait":
		return s.Wait.cut(text)
	case "run":
		return s.Run.cut(text)
	}
	return rest, ok
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

// cutString reads a JSON string that is its text in quotes: of ASCII, without escapes.
func cutString(text string) (s, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[1:i], text[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return "", "", false
		}
	}
	return "", "", false
}

// cutCount reads a number that is not below zero, without fraction and exponent, of up to 18 digits.
func cutCount(text string) (n int64, rest string, ok bool) {
	i := 0
	for i < len(text) && i <= 18 && text[i] >= '0' && text[i] <= '9' {
		n = 10*n + int64(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0 && i <= 18 && (text[0] != '0' || i == 1)
}

// cut reads what MarshalJSON writes, at the beginning of a text.
func (h *Histogram) cut(text string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "[]"); ok {
		*h = Histogram{}
		return rest, true
	}
	var list [histogramSize + 1]int64
	rest, ok = strings.CutPrefix(text, "[")
	for n := 0; ok && n < len(list); n++ {
		if list[n], rest, ok = cutCount(rest); !ok {
			return "", false
		}
		if after, end := strings.CutPrefix(rest, "]"); end {
			return after, h.fill(list[:n+1]) == nil
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return "", false
}
