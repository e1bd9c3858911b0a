package syslog

import (
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/severity"
)

// levels are those of the severities, from emergency to debug.
var levels = [8]slog.Level{
	severity.Fatal, severity.Alert, severity.Critical, slog.LevelError,
	slog.LevelWarn, severity.Notice, slog.LevelInfo, slog.LevelDebug,
}

var facilities = [24][]byte{
	[]byte("kern"), []byte("user"), []byte("mail"), []byte("daemon"), []byte("auth"), []byte("syslog"), []byte("lpr"), []byte("news"),
	[]byte("uucp"), []byte("cron"), []byte("authpriv"), []byte("ftp"), []byte("ntp"), []byte("security"), []byte("console"), []byte("clock"),
	[]byte("local0"), []byte("local1"), []byte("local2"), []byte("local3"), []byte("local4"), []byte("local5"), []byte("local6"), []byte("local7"),
}

const userNotice = 1<<3 | 5 // the priority of a message that has none

// cutPriority cuts <N> off a message.
func cutPriority(text []byte) (priority int, rest []byte, ok bool) {
	if text[0] != '<' {
		return userNotice, text, false
	}
	for i, c := range text[1:min(len(text), 5)] {
		switch {
		case '0' <= c && c <= '9':
			priority = priority*10 + int(c-'0')
		case c == '>' && i > 0 && priority < len(facilities)<<3:
			return priority, text[i+2:], true
		default:
			return userNotice, text, false
		}
	}
	return userNotice, text, false
}
