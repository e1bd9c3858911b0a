// Package when parses times and durations as people write them on a command line.
package when

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Span is a duration in Go's syntax, or in days and weeks, as in 7d or 2w. The longest is that of Go, 292 years.
type Span time.Duration

// UnmarshalText parses a span.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := parseSpan(string(text))
	*s = Span(d)
	return err
}

func parseSpan(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%.40q is not a duration such as 90s, 1h30m, 7d or 2w", text)
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if count, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(count, 64)
			d := n * float64(length)
			if err != nil || !(d >= 0 && d < math.MaxInt64) { // also refuses NaN
				return 0, wrong
			}
			return time.Duration(d), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}

// A Moment is a time, in the local time zone unless a zone is given.
type Moment struct{ time.Time }

// UnmarshalText parses a moment.
func (m *Moment) UnmarshalText(text []byte) error {
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
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-01-31 15:04 or 2026-01-31T15:04:05Z", text)
}

// A Past is a Moment, a Span that says how long ago it was, or a day and a time such as "yesterday 14:00", "today" or 14:00.
type Past struct{ Moment }

// UnmarshalText parses a past.
func (p *Past) UnmarshalText(text []byte) error {
	t, err := parsePast(string(text), time.Now())
	p.Time = t
	return err
}

func parsePast(text string, now time.Time) (time.Time, error) {
	if d, err := parseSpan(text); err == nil {
		return now.Add(-d), nil
	}
	if t, ok := parseDay(text, now); ok {
		return t, nil
	}
	t, err := parseMoment(text)
	if err != nil {
		err = fmt.Errorf("%w, nor an age such as 90s or 7d, nor a time of day such as yesterday 14:00", err)
	}
	return t, err
}

// parseDay parses today or yesterday, a time of day, or both.
func parseDay(text string, now time.Time) (time.Time, bool) {
	day, clock, both := strings.Cut(strings.ToLower(text), " ")
	year, month, date := now.Date()
	switch day {
	case "today":
	case "yesterday":
		date--
	default:
		if both {
			return time.Time{}, false
		}
		clock, both = day, true
	}
	var at time.Time
	if both {
		var err error
		if at, err = time.Parse("15:04:05", clock); err != nil {
			if at, err = time.Parse("15:04", clock); err != nil {
				return time.Time{}, false
			}
		}
	}
	return time.Date(year, month, date, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), now.Location()), true
}
