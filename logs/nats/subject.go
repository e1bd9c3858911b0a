package nats

import (
	"log/slog"
	"strings"
	"unicode/utf8"
)

// A template makes the subjects of records.
type template []string // pieces, of which "{service}" and "{level}" stand for something

func parseTemplate(text string) (t template) {
	for text != "" {
		i := strings.IndexByte(text, '{')
		end := strings.IndexByte(text, '}')
		if i < 0 || end < i {
			return append(t, text)
		}
		if name := text[i : end+1]; name == "{service}" || name == "{level}" {
			t = append(t, text[:i], name)
		} else {
			t = append(t, text[:end+1])
		}
		text = text[end+1:]
	}
	return t
}

func (t template) subject(service string, level slog.Level) string {
	var b strings.Builder
	for _, piece := range t {
		switch piece {
		case "{service}":
			piece = escape(service)
		case "{level}":
			piece = levelName(level)
		}
		b.WriteString(piece)
	}
	return b.String()
}

// wildcard is the subject that all subjects of the template match.
func (t template) wildcard() string {
	tokens := strings.Split(strings.Join(t, ""), ".")
	for i, token := range tokens {
		if strings.Contains(token, "{service}") || strings.Contains(token, "{level}") {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// escape makes a token of a subject: what has a meaning in subjects or is not allowed there, and the percent sign, are
// written as a percent sign and two hexadecimal digits.
func escape(service string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(service); i++ {
		c := service[i]
		if c <= ' ' || c == 0x7f || strings.IndexByte(".*>%", c) >= 0 || c >= utf8.RuneSelf {
			b.Write([]byte{'%', digits[c>>4], digits[c&0xf]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// levelName is the name of a level, or of the one below it that has one.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	}
	return "error"
}
