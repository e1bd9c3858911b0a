package otlp

import (
	"log/slog"
	"strings"

	words "github.com/meanwhile-go/meanwhile/internal/severity"
)

// severity returns the severity number of a level, from 1 to 24. slog's debug, info, warn and error are 5, 9, 13 and 17.
func severity(level slog.Level) int { return int(min(max(level, -8), 15)) + 9 }

var severityNames = [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// severityText returns the name of a severity number.
func severityText(number int) string { return severityNames[(number-1)/4] }

// level returns the level of a severity, and whether its text has information that the number does not have.
func level(number int64, text string) (level slog.Level, more bool) {
	name := strings.ToUpper(text)
	if number >= 1 && number <= 24 {
		return slog.Level(number - 9), text != "" && name != severityText(int(number)) && name != slog.Level(number-9).String()
	}
	if level, ok := words.Level([]byte(text)); ok {
		return level, name != severityText(severity(level)) && name != "WARNING"
	}
	return slog.LevelInfo, text != ""
}
