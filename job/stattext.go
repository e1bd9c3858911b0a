package job

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// ReadStats decodes rows that a store keeps as json.Marshal wrote them. A text holds one row, or several with line breaks between them: a page of
// a dashboard reads thousands of rows, and a store is faster with few texts. Stores call it.
func ReadStats(texts ...string) ([]Stat, error) {
	n := 0
	for _, text := range texts {
		n += 1 + strings.Count(text, "\n")
	}
	rows := make([]Stat, n) // a row has a kilobyte, and append would copy each some five times
	r := statReader{names: map[string]string{}}
	i := 0
	for _, text := range texts {
		for line := range strings.SplitSeq(text, "\n") {
			if !r.read(line, &rows[i]) {
				rows[i] = Stat{}
				if err := json.Unmarshal([]byte(line), &rows[i]); err != nil {
					return nil, fmt.Errorf("row of stats: %w", err)
				}
			}
			i++
		}
	}
	return rows, nil
}

// A statReader reads rows without reflection. It reads only the text that json.Marshal writes for a Stat whose names are plain.
type statReader struct {
	text  string            // what is left of a row
	names map[string]string // read so far: each is in memory once, and does not keep the text of its row
	last  struct {          // what the next row may have, too
		minute              time.Time
		at                  string // the text of the minute
		worker, queue, kind string
	}
}

// read reads a row. It reports false for a text that json.Unmarshal has to read, or to refuse: then s is not usable.
func (r *statReader) read(text string, s *Stat) bool {
	r.text = text
	ok := r.token(`{"minute":"`) && r.minute(&s.Minute) &&
		(!r.token(`,"span":`) || r.count((*int64)(&s.Span))) &&
		r.token(`,"worker":"`) && r.name(&s.Worker, r.last.worker) &&
		r.token(`,"queue":"`) && r.name(&s.Queue, r.last.queue) &&
		r.token(`,"kind":"`) && r.name(&s.Kind, r.last.kind) &&
		r.token(`,"completed":`) && r.count(&s.Completed) &&
		r.token(`,"retried":`) && r.count(&s.Retried) &&
		r.token(`,"snoozed":`) && r.count(&s.Snoozed) &&
		r.token(`,"canceled":`) && r.count(&s.Canceled) &&
		r.token(`,"discarded":`) && r.count(&s.Discarded) &&
		(!r.token(`,"queued":`) || r.count(&s.Queued)) &&
		(!r.token(`,"running":`) || r.count(&s.Running)) &&
		r.token(`,"wait":[`) && r.histogram(&s.Wait) &&
		r.token(`,"run":[`) && r.histogram(&s.Run) &&
		r.text == "}"
	if ok {
		r.last.worker, r.last.queue, r.last.kind = s.Worker, s.Queue, s.Kind
	}
	return ok
}

// token reads a text if it comes next.
func (r *statReader) token(text string) (ok bool) {
	r.text, ok = strings.CutPrefix(r.text, text)
	return ok
}

// quoted reads what is left of a string: printable ASCII without escapes.
func (r *statReader) quoted() (text string, ok bool) {
	for i := range len(r.text) {
		switch c := r.text[i]; {
		case c == '"':
			text, r.text = r.text[:i], r.text[i+1:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return "", false
		}
	}
	return "", false
}

// minute reads a time, which may be the one of the row before.
func (r *statReader) minute(to *time.Time) bool {
	text, ok := r.quoted()
	if !ok {
		return false
	}
	if text != r.last.at {
		if r.last.minute.UnmarshalText([]byte(text)) != nil {
			r.last.at = ""
			return false
		}
		r.last.at = text
	}
	*to = r.last.minute
	return true
}

// name reads a name, which may be the one of the row before.
func (r *statReader) name(to *string, last string) bool {
	text, ok := r.quoted()
	if !ok || text == last {
		*to = last
		return ok
	}
	if *to, ok = r.names[text]; !ok {
		*to = strings.Clone(text)
		r.names[*to] = *to
	}
	return true
}

// mostDigits is how many digits are certain to fit into an int64.
const mostDigits = 18

// count reads a whole number that is not below zero.
func (r *statReader) count(to *int64) bool {
	n, i := int64(0), 0
	for i < len(r.text) && '0' <= r.text[i] && r.text[i] <= '9' {
		n = 10*n + int64(r.text[i]-'0')
		i++
	}
	if i == 0 || i > mostDigits || i > 1 && r.text[0] == '0' {
		return false
	}
	*to, r.text = n, r.text[i:]
	return true
}

// histogram reads the rest of what MarshalJSON writes.
func (r *statReader) histogram(h *Histogram) bool {
	if r.token("]") {
		return true
	}
	var at, total int64
	if !r.count(&at) {
		return false
	}
	for ; r.token(","); at++ {
		if at >= histogramSize || !r.count(&h.counts[at]) || h.counts[at] > math.MaxInt64-total {
			return false
		}
		total += h.counts[at]
	}
	return at <= histogramSize && r.token("]")
}
