package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A span is a duration as people write it: Go's, and days and weeks, as in 7d or 2w.
type span time.Duration

// UnmarshalText reads a span.
func (s *span) UnmarshalText(text []byte) error {
	d, err := parseSpan(string(text))
	*s = span(d)
	return err
}

func parseSpan(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%.40q is no duration such as 90s, 1h30m, 7d or 2w", text)
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if count, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(count, 64)
			if err != nil || !(n >= 0 && n <= 40000) { // also for what is not a number
				return 0, wrong
			}
			return time.Duration(n * float64(length)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}

// A moment is a time as people write it, by the clock of this machine where no zone is given.
type moment struct{ time.Time }

// UnmarshalText reads a moment.
func (m *moment) UnmarshalText(text []byte) error {
	t, err := parseMoment(string(text))
	m.Time = t
	return err
}

func parseMoment(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time such as 2026-01-31 15:04 or 2026-01-31T15:04:05Z", text)
}

// A past is a moment, or a span that says how long ago it was.
type past struct{ moment }

// UnmarshalText reads a past.
func (p *past) UnmarshalText(text []byte) error {
	if d, err := parseSpan(string(text)); err == nil {
		p.Time = time.Now().Add(-d)
		return nil
	}
	t, err := parseMoment(string(text))
	if err != nil {
		return fmt.Errorf("%w, and no age such as 90s or 7d", err)
	}
	p.Time = t
	return nil
}
