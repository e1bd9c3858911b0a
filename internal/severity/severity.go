// Package severity parses the words with which programs name the severity of a log record.
package severity

import "log/slog"

// Levels without a name in slog. Their values match OpenTelemetry, whose severity number is the level plus 9.
const (
	Trace    = slog.LevelDebug - 4
	Notice   = slog.LevelInfo + 1
	Critical = slog.LevelError + 1
	Alert    = slog.LevelError + 2
	Fatal    = slog.LevelError + 4
)

// longest is the length of the longest word.
const longest = 13

// Level returns the level that a word stands for, regardless of its case. ok is false for an unknown word. It also accepts the
// names that slog writes, such as "ERROR+2".
func Level(word []byte) (level slog.Level, ok bool) {
	switch string(word) { // as most programs write them
	case "debug":
		return slog.LevelDebug, true
	case "info":
		return slog.LevelInfo, true
	case "warn":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	case "fatal":
		return Fatal, true
	}
	if len(word) > longest {
		return 0, false
	}
	var buf [longest]byte
	lower := buf[:len(word)]
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower) {
	case "trace", "finest", "finer", "verbose":
		return Trace, true
	case "debug", "dbg", "fine", "d":
		return slog.LevelDebug, true
	case "info", "information", "informational", "inf", "i", "default", "config":
		return slog.LevelInfo, true
	case "notice":
		return Notice, true
	case "warn", "warning", "wrn", "w":
		return slog.LevelWarn, true
	case "error", "err", "severe", "e":
		return slog.LevelError, true
	case "critical", "crit", "dpanic":
		return Critical, true
	case "alert":
		return Alert, true
	case "fatal", "panic", "emergency", "emerg", "f":
		return Fatal, true
	}
	return offset(lower)
}

// offset parses the name of a level with an offset, as slog.Level.String writes it.
func offset(lower []byte) (slog.Level, bool) {
	for i := 1; i < len(lower)-1; i++ {
		if c := lower[i]; c != '+' && c != '-' {
			continue
		}
		base, ok := Level(lower[:i])
		n := 0
		for _, c := range lower[i+1:] {
			if c < '0' || c > '9' || n > 999 {
				return 0, false
			}
			n = n*10 + int(c-'0')
		}
		if lower[i] == '-' {
			n = -n
		}
		return base + slog.Level(n), ok
	}
	return 0, false
}
