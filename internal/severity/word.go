package severity

import (
	"log/slog"
	"strings"
)

// Key is the attribute that keeps the original severity word of a record if no level has that word.
const Key = "severity"

// Word returns the word of a level, as Analogger writes it.
func Word(level slog.Level) string {
	switch level {
	case slog.LevelDebug:
		return "debug"
	case slog.LevelInfo:
		return "info"
	case slog.LevelWarn:
		return "warn"
	case slog.LevelError:
		return "error"
	case Fatal:
		return "fatal"
	case Trace:
		return "trace"
	case Notice:
		return "notice"
	case Critical:
		return "critical"
	case Alert:
		return "alert"
	}
	return strings.ToLower(level.String())
}
