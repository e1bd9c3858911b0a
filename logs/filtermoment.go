package logs

import (
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Moments are what a value stands for that is less exact than what it is compared with: 2026-05-04 is a whole day, warn
// is each level below error.
type moments struct{ lo, hi int64 } // both belong to it

// compared returns the range of what compares so to it.
func (m moments) compared(comparison string) (lo, hi int64) {
	switch comparison {
	case ">=":
		return m.lo, math.MaxInt64
	case "<=":
		return math.MinInt64, m.hi
	case ">":
		if m.hi == math.MaxInt64 {
			return 1, 0
		}
		return m.hi + 1, math.MaxInt64
	case "<":
		if m.lo == math.MinInt64 {
			return 1, 0
		}
		return math.MinInt64, m.lo - 1
	}
	return m.lo, m.hi
}

// parseTimes reads a time in RFC 3339, or the beginning of one. Without a zone it is in UTC.
func parseTimes(text string) (m moments, ok bool) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if strings.ContainsAny(text, ".,") {
			return timesFrom(t, 1)
		}
		return timesFrom(t, time.Second)
	}
	for layout, length := range map[string]time.Duration{
		"2006-01-02": 24 * time.Hour, "2006-01-02T15": time.Hour, "2006-01-02T15:04": time.Minute, "2006-01-02T15:04:05": time.Second,
		"2006-01-02T15Z07:00": time.Hour, "2006-01-02T15:04Z07:00": time.Minute,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			if strings.ContainsAny(text, ".,") { // time.Parse takes a fraction where the layout has none
				length = 1
			}
			return timesFrom(t, length)
		}
	}
	return moments{}, false
}

// timesFrom fails for what nanoseconds since 1970 do not reach.
func timesFrom(t time.Time, length time.Duration) (m moments, ok bool) {
	end := t.Add(length - 1)
	if t.Year() < 1678 || end.Year() > 2261 {
		return moments{}, false
	}
	return moments{t.UnixNano(), end.UnixNano()}, true
}

// parseLevels reads a level. Its name stands for all up to the next one that has a name; with +n or -n, or as a number,
// it is that alone.
func parseLevels(text string) (m moments, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return moments{n, n}, true
	}
	name := strings.ToUpper(text)
	if rest, ok := strings.CutPrefix(name, "WARNING"); ok {
		name = "WARN" + rest
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil || l != slog.Level(int32(l)) {
		return moments{}, false
	}
	if strings.ContainsAny(name, "+-") {
		return moments{int64(l), int64(l)}, true
	}
	return moments{int64(l), int64(l) + int64(slog.LevelError-slog.LevelWarn) - 1}, true
}
