package filter

import (
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/severity"
)

// A moments is the range of values that a less exact value stands for: 2026-05-04 is a whole day, warn is each level below error.
type moments struct{ lo, hi int64 } // both included

// compared returns the range of values for which a comparison with m is true.
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
			if strings.ContainsAny(text, ".,") { // time.Parse accepts a fraction where the layout has none
				length = 1
			}
			return timesFrom(t, length)
		}
	}
	return moments{}, false
}

// timesFrom returns the range from a time on. It fails for times that nanoseconds since 1970 cannot represent.
func timesFrom(t time.Time, length time.Duration) (m moments, ok bool) {
	end := t.Add(length - 1)
	if t.Year() < 1678 || end.Year() > 2261 {
		return moments{}, false
	}
	return moments{t.UnixNano(), end.UnixNano()}, true
}

// parseLevels reads a level. The names of slog, trace and fatal stand for four levels each: debug for all below info. Any other
// name, such as notice, a name with +n or -n, or a number is one level alone.
func parseLevels(text string) (m moments, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return moments{n, n}, true
	}
	l, ok := severity.Level([]byte(text))
	if !ok {
		return moments{}, false
	}
	const step = slog.LevelError - slog.LevelWarn
	if strings.ContainsAny(text, "+-") || l%step != 0 {
		return moments{int64(l), int64(l)}, true
	}
	return moments{int64(l), int64(l + step - 1)}, true
}
