package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// A span is a duration: a number of seconds, or a text such as "1h30m".
type span time.Duration

const mostSpan = 100 * 365 * 24 * time.Hour

// UnmarshalJSON decodes a span.
func (s *span) UnmarshalJSON(text []byte) error {
	wrong := fmt.Errorf(`%.30s is not a duration: give seconds, or a text such as "1h30m", up to a hundred years`, text)
	var seconds float64
	if json.Unmarshal(text, &seconds) == nil {
		if seconds < 0 || seconds > mostSpan.Seconds() {
			return wrong
		}
		*s = span(seconds * float64(time.Second))
		return nil
	}
	var written string
	if json.Unmarshal(text, &written) != nil {
		return wrong
	}
	d, err := time.ParseDuration(written)
	if err != nil || d < 0 || d > mostSpan {
		return wrong
	}
	*s = span(d)
	return nil
}

// MarshalJSON writes a span in seconds.
func (s span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// A moment is a time of RFC 3339.
type moment struct{ time.Time }

// UnmarshalText decodes a moment.
func (m *moment) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%.40q is not a time such as 2026-01-31T15:04:05Z", text)
	}
	m.Time = t
	return nil
}

// UnmarshalJSON decodes a moment; without it, the method of time.Time would be used.
func (m *moment) UnmarshalJSON(text []byte) error {
	var written string
	if json.Unmarshal(text, &written) != nil {
		return fmt.Errorf("%.40s is not a time such as \"2026-01-31T15:04:05Z\"", text)
	}
	return m.UnmarshalText([]byte(written))
}
