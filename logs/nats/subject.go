package nats

import (
	"log/slog"
	"strings"
	"unicode/utf8"
)

// A template is the template of the subjects of records.
type template []string // its parts; "{service}" and "{level}" are placeholders

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

// wildcard returns a subject with wildcards that matches all subjects of the template.
func (t template) wildcard() string {
	tokens := strings.Split(strings.Join(t, ""), ".")
	for i, token := range tokens {
		if strings.Contains(token, "{service}") || strings.Contains(token, "{level}") {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// escape returns a service as one token of a subject: each byte that has a meaning in subjects or is not allowed there, and the percent
// sign, is written as a percent sign and two hexadecimal digits.
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

// levelName returns the name of a level, or of the next lower level that has a name; below debug it is debug.
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
