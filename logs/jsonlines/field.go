package jsonlines

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/severity"
)

// A part is the part of a record that a field sets.
type part byte

const (
	partAttr part = iota
	partTime
	partLevel
	partMessage
	partService
	partTask
	partJob
	partName
	partLog
	partRealtime // this and the following are fields of journald
	partPriority
	partIdentifier
	partUnit
	partPlace
)

// part returns the part that the field d.key sets.
func (d *Decoder) part() part {
	if d.plain {
		return partAttr
	}
	switch string(d.key) {
	case "time", "ts", "timestamp", "@timestamp":
		return partTime
	case "level", "lvl", "severity", "log.level":
		return partLevel
	case "msg", "message":
		return partMessage
	case "service", "service.name":
		return partService
	case "task":
		return partTask
	case "job":
		return partJob
	case "name":
		return partName
	case "log":
		return partLog
	}
	return journalPart(d.key)
}

// The formats of times: RFC 3339, zap's ISO 8601, and formats without a zone, which mean UTC.
var forms = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

func parseTime(text []byte) (nanoseconds int64, ok bool) {
	if len(text) < len("2006-01-02T15:04:05") || len(text) > 64 {
		return 0, false
	}
	for _, form := range forms {
		if at, err := time.Parse(form, string(text)); err == nil {
			return inRange(at)
		}
	}
	return 0, false
}

// inRange returns a time in nanoseconds since 1970. ok is false outside the years 1678 to 2261, the whole years that 64 bits can hold.
func inRange(at time.Time) (nanoseconds int64, ok bool) {
	if year := at.Year(); year < 1678 || year > 2261 {
		return 0, false
	}
	return at.UnixNano(), true
}

// sinceEpoch reads a number of seconds since 1970, or of milli-, micro- or nanoseconds if it is too large to be seconds: 100 billion
// seconds is the year 5138.
func sinceEpoch(number []byte) (nanoseconds int64, ok bool) {
	whole, scale, digits := int64(0), int64(1e9), 0
	for i, c := range number {
		switch {
		case c == '.' && i > 0:
			if whole >= 1e11 { // milliseconds or a smaller unit: the fraction is ignored
				return scaled(whole)
			}
			fraction := int64(0)
			for _, c := range number[i+1:] {
				if c-'0' > 9 {
					return sinceEpochFloat(number)
				}
				if scale > 1 {
					fraction, scale = fraction*10+int64(c-'0'), scale/10
				}
			}
			return whole*1e9 + fraction*scale, true
		case c-'0' > 9 || digits == 18:
			return sinceEpochFloat(number)
		default:
			whole, digits = whole*10+int64(c-'0'), digits+1
		}
	}
	return scaled(whole)
}

func scaled(n int64) (nanoseconds int64, ok bool) {
	switch {
	case n < 1e11:
		return inRange(time.Unix(n, 0))
	case n < 1e14:
		return n * 1e6, true
	case n < 1e17:
		return n * 1e3, true
	}
	return n, true
}

// sinceEpochFloat reads the numbers that sinceEpoch does not: negative ones, and those with an exponent or with 19 digits.
func sinceEpochFloat(number []byte) (nanoseconds int64, ok bool) {
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil && n > 0 {
		return n, true
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f < -9e9 || f > 9e18 {
		return 0, false
	}
	if f >= 1e11 {
		return scaled(int64(f))
	}
	return inRange(time.UnixMicro(int64(f * 1e6)))
}

// numberedLevel reads a numeric level: from 10 on a level of bunyan and pino, in which 30 is info, below 10 a level of slog.
func numberedLevel(number []byte) (level slog.Level, bunyan, ok bool) {
	n, ok := integer(number)
	switch {
	case !ok || n < int64(severity.Trace) || n > 100:
		return 0, false, false
	case n >= 10:
		return slog.Level((n - 30) * 4 / 10), true, true
	}
	return slog.Level(n), false, true
}

// integer reads an integer of up to 18 digits.
func integer(number []byte) (n int64, ok bool) {
	digits := number
	if number[0] == '-' {
		digits = number[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if number[0] == '-' {
		n = -n
	}
	return n, true
}
