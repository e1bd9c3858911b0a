package logs

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"time"

	levels "github.com/meanwhile-go/meanwhile/internal/severity"
)

// severityKey is the attribute that keeps the word of a protocol whose severities are words, where no level has it.
const severityKey = "severity"

// A lineFormat writes records as Analogger does, a line each:
//
//	YYYY/MM/DD HH:MM:SS|service|severity|message key=value
//
// in local time, which may have a fraction of a second. Task, job and attributes follow the message. It keeps what stood before the last
// message, and its attributes, which are what most others have.
type lineFormat struct {
	before []byte // the message
	stamp  int    // so many bytes of it are the time
	unit   int64  // nanoseconds; of the last digit of the time
	time   int64  // in units
	level  slog.Level
	head   *byte // of the service

	attrs    []byte // the encoded ones
	text     []byte // as they stand after the message
	severity []byte // nil: the level says it
}

const (
	stampLayout = "2006/01/02 15:04:05.000000000"
	stampLen    = 19  // of it without a fraction
	keptAttrs   = 256 // bytes of encoded ones that are kept
)

// stampWidth returns the length of a time with so many digits of a fraction.
func stampWidth(fraction int) int {
	if fraction == 0 {
		return stampLen
	}
	return stampLen + 1 + fraction
}

// units are those of the last digit of a time, by the digits of its fraction.
var units = [10]int64{3: 1e6, 6: 1e3, 9: 1}

// append appends the line of a record of a time. The head is the escaped name of the service and a |.
func (f *lineFormat) append(b, head []byte, v *View, at int64, fraction int) []byte {
	f.begin(head, v.Level, at, fraction)
	if len(v.attrs)+len(v.Task)+len(v.Job) > 0 {
		return f.long(b, head, v)
	}
	begin, end := len(b), len(b)+len(f.before)+len(v.Message)+1
	if end > cap(b) || plainPrefix(v.Message) < len(v.Message) {
		return append(appendPrintable(append(b, f.before...), v.Message), '\n')
	}
	b = b[:end]
	copy(b[begin+copy(b[begin:], f.before):], v.Message)
	b[end-1] = '\n'
	return b
}

// begin sees to what stands before the message.
func (f *lineFormat) begin(head []byte, level slog.Level, at int64, fraction int) {
	unit, t := int64(1e9), at/1e9
	if fraction > 0 {
		unit = units[fraction]
		t = at / unit
	}
	if f.unit == unit && f.time == t && level == f.level && &head[0] == f.head {
		return
	}
	f.unit, f.time, f.level, f.head, f.stamp = unit, t, level, &head[0], stampWidth(fraction)
	f.before = time.Unix(0, t*unit).AppendFormat(f.before[:0], stampLayout[:f.stamp])
	f.before = append(append(f.before, '|'), head...)
	f.before = append(append(f.before, severityWord(level)...), '|')
}

// appendRaw appends the line of a record with its message, its severity, and the service it came with as they are. The head is the
// name of the service and a |.
func (f *lineFormat) appendRaw(b, head []byte, v *View, at int64) []byte {
	f.begin(head, v.Level, at, 0)
	service, named := v.attr(fromService)
	word, worded := v.attr(severityKey)
	if !named && !worded {
		b = append(append(b, f.before...), v.Message...)
		return append(appendContext(b, v), '\n')
	}
	if !named {
		service = head[:len(head)-1]
	}
	if !worded {
		word = []byte(severityWord(v.Level))
	}
	b = append(append(b, f.before[:f.stamp+1]...), service...)
	b = append(append(append(b, '|'), word...), '|')
	return append(appendContext(append(b, v.Message...), v), '\n')
}

// appendContext appends what a raw line has behind its message: nothing for a record of Analogger.
func appendContext(b []byte, v *View) []byte {
	return appendAttrs(appendTask(b, v), v, severityKey, fromService)
}

// appendTask appends the task and the job.
func appendTask(b []byte, v *View) []byte {
	if len(v.Task) > 0 {
		b = appendValue(append(b, " task="...), v.Task)
	}
	if len(v.Job) > 0 {
		b = appendValue(append(b, " job="...), v.Job)
	}
	return b
}

// long appends a line with attributes.
func (f *lineFormat) long(b, head []byte, v *View) []byte {
	if len(f.attrs) == 0 || !bytes.Equal(f.attrs, v.attrs) {
		f.turn(v)
	}
	if f.severity != nil {
		b = append(append(b, f.before[:f.stamp+1]...), head...)
		b = append(appendField(b, f.severity), '|')
	} else {
		b = append(b, f.before...)
	}
	b = appendTask(appendPrintable(b, v.Message), v)
	if len(f.attrs) > 0 {
		b = append(b, f.text...)
	} else {
		b = appendAttrs(b, v, severityKey)
	}
	return append(b, '\n')
}

// turn turns to other attributes.
func (f *lineFormat) turn(v *View) {
	if f.severity, f.attrs = nil, f.attrs[:0]; len(v.attrs) == 0 {
		return
	}
	if len(v.attrs) <= keptAttrs {
		f.attrs, f.text = append(f.attrs, v.attrs...), appendAttrs(f.text[:0], v, severityKey)
		v = &View{attrs: f.attrs}
	}
	f.severity, _ = v.attr(severityKey)
}

// appendField appends what stands before the message: a | in it would end it.
func appendField(b, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '|')
		if i < 0 {
			return appendPrintable(b, text)
		}
		b = append(appendPrintable(b, text[:i]), `\x7c`...)
		text = text[i+1:]
	}
}

// attr returns the text of the attribute with a key.
func (v *View) attr(key string) (text []byte, ok bool) {
	for b := v.attrs; len(b) > 0; {
		k, value, rest, ok := nextAttr(b)
		if !ok {
			break
		}
		if string(k) == key {
			return value.Text()
		}
		b = rest
	}
	return nil, false
}

// appendAttrs appends the attributes but for those with some keys.
func appendAttrs(b []byte, v *View, but ...string) []byte {
	var room [64]byte
	for attrs := v.attrs; len(attrs) > 0; {
		key, value, rest, ok := nextAttr(attrs)
		if !ok {
			break
		}
		attrs = rest
		if slices.ContainsFunc(but, func(k string) bool { return k == string(key) }) {
			continue
		}
		b = append(appendWord(append(b, ' '), key), '=')
		if text, ok := value.Text(); ok {
			b = appendValue(b, text)
		} else {
			b = appendValue(b, value.AppendText(room[:0]))
		}
	}
	return b
}

// wordBytes are those that stand for themselves in a value without quotes.
var wordBytes = func() (word [256]bool) {
	for c := '!'; c <= '~'; c++ {
		word[c] = c != '"'
	}
	return word
}()

// appendWord is appendPrintable for what is short, and mostly plain.
func appendWord(b, text []byte) []byte {
	for _, c := range text {
		if !wordBytes[c] {
			return appendPrintable(b, text)
		}
	}
	return append(b, text...)
}

// appendValue appends the value of an attribute, in quotes when it would not be seen where it ends.
func appendValue(b, text []byte) []byte {
	if len(text) > 0 && bytes.IndexByte(text, ' ') < 0 && bytes.IndexByte(text, '"') < 0 {
		return appendWord(b, text)
	}
	b = append(b, '"')
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return append(appendPrintable(b, text), '"')
		}
		b = append(appendPrintable(b, text[:i]), '\\', '"')
		text = text[i+1:]
	}
}

// severityWord returns the word of a level.
func severityWord(level slog.Level) string {
	switch level {
	case slog.LevelDebug:
		return "debug"
	case slog.LevelInfo:
		return "info"
	case slog.LevelWarn:
		return "warn"
	case slog.LevelError:
		return "error"
	case levels.Fatal:
		return "fatal"
	case levels.Trace:
		return "trace"
	case levels.Notice:
		return "notice"
	case levels.Critical:
		return "critical"
	case levels.Alert:
		return "alert"
	}
	return strings.ToLower(level.String())
}
