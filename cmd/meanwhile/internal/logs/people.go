package logs

import (
	"log/slog"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// people formats records for people: one line each, with the rest of a message in indented lines.
//
//	05-04 03:02:01.500 WARN  api  timed out  status=503 took=1.5s task=main/search
//	    what comes after the first line of the message
type people struct {
	zone   *time.Location
	year   int // times of this year are shown without it
	colors bool
}

// Terminal escape sequences for styles.
const (
	plain  = "\x1b[0m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

func (p *people) append(b []byte, r *logs.Record) []byte {
	at := r.Time.In(p.zone)
	layout := "01-02 15:04:05.000"
	if at.Year() != p.year {
		layout = "2006-01-02 15:04:05.000"
	}
	b = p.styled(b, dim, func(b []byte) []byte { return at.AppendFormat(b, layout) })
	b = append(b, ' ')
	b = p.styled(b, levelStyle(r.Level), func(b []byte) []byte {
		level := r.Level.String()
		b = append(b, level...)
		return append(b, strings.Repeat(" ", max(0, 5-len(level)))...)
	})
	b = append(b, ' ')
	b = p.styled(b, cyan, func(b []byte) []byte { return appendSafe(b, r.Service, "") })
	b = append(b, "  "...)
	first, rest, more := strings.Cut(strings.TrimRight(r.Message, "\r\n"), "\n")
	b = appendSafe(b, strings.TrimSuffix(first, "\r"), "\t")
	if len(r.Attrs) > 0 || r.Task != "" || r.Job != "" {
		b = p.styled(append(b, ' '), dim, func(b []byte) []byte { return appendAttrs(b, r) })
	}
	b = append(b, '\n')
	for more {
		first, rest, more = strings.Cut(rest, "\n")
		if first = strings.TrimSuffix(first, "\r"); first != "" {
			b = appendSafe(append(b, "    "...), first, "\t")
		}
		b = append(b, '\n')
	}
	return b
}

func appendAttrs(b []byte, r *logs.Record) []byte {
	one := func(key, value string) {
		b = append(appendValue(append(b, ' '), key), '=')
		b = appendValue(b, value)
	}
	for _, a := range r.Attrs {
		one(a.Key, valueText(a.Value))
	}
	if r.Task != "" {
		one("task", r.Task)
	}
	if r.Job != "" {
		one("job", r.Job)
	}
	return b
}

// valueText formats a value for people, in a form that a filter accepts.
func valueText(v slog.Value) string {
	var view logs.View
	view.AddAttr(slog.Attr{Key: "v", Value: v})
	for _, value := range view.Attrs {
		return string(value.AppendText(nil))
	}
	return v.String()
}

func (p *people) styled(b []byte, style string, fn func(b []byte) []byte) []byte {
	if !p.colors || style == "" {
		return fn(b)
	}
	return append(fn(append(b, style...)), plain...)
}

func levelStyle(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return red
	case l >= slog.LevelWarn:
		return yellow
	case l < slog.LevelInfo:
		return dim
	}
	return ""
}
