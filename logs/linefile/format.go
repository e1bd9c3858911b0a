package linefile

import (
	"bytes"
	"log/slog"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A Format writes records as Analogger does, a line each:
//
//	YYYY/MM/DD HH:MM:SS|service|severity|message key=value
//
// in local time, which may have a fraction of a second. Task, job and attributes follow the message. It keeps the text before the last
// message, and the text of its attributes, since the next record often has the same.
type Format struct {
	before []byte // the text before the last message
	stamp  int    // the length of the time in it
	unit   int64  // of the last digit of the time, in nanoseconds
	time   int64  // the time in it, in units
	level  slog.Level
	head   *byte // of the service

	attrs    []byte // the encoded attributes of the last record
	text     []byte // their text after the message
	severity []byte // the attribute severity; nil: the word of the level
}

const (
	stampLayout = "2006/01/02 15:04:05.000000000"
	stampLen    = 19  // of a time without a fraction
	keptAttrs   = 256 // the largest encoded attributes that are kept, in bytes
)

// stampWidth returns the length of a time whose fraction has so many digits.
func stampWidth(fraction int) int {
	if fraction == 0 {
		return stampLen
	}
	return stampLen + 1 + fraction
}

// units are the units of the last digit of a time, by the number of digits of its fraction.
var units = [10]int64{3: 1e6, 6: 1e3, 9: 1}

// Head returns the head of the lines of a service: its name, escaped, and a |.
func Head(service string) []byte { return append(appendField(nil, []byte(service)), '|') }

// RawHead returns the head of the raw lines of a service: its name and a |.
func RawHead(service string) []byte { return []byte(service + "|") }

// Append appends the line of a record, with the time at. The head is what [Head] returns for its service.
func (f *Format) Append(b, head []byte, v *logs.View, at int64, fraction int) []byte {
	f.prepareHead(head, v.Level, at, fraction)
	if len(v.EncodedAttrs())+len(v.Task)+len(v.Job) > 0 {
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

// prepareHead prepares the text before the message.
func (f *Format) prepareHead(head []byte, level slog.Level, at int64, fraction int) {
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
	f.before = append(append(f.before, severity.Word(level)...), '|')
}

// AppendRaw appends the line of a record with its message, its severity and its original service, without escapes. The head is what
// [RawHead] returns for its service.
func (f *Format) AppendRaw(b, head []byte, v *logs.View, at int64) []byte {
	f.prepareHead(head, v.Level, at, 0)
	service, named := v.AttrText(logs.FromService)
	word, worded := v.AttrText(severity.Key)
	if !named && !worded {
		b = append(append(b, f.before...), v.Message...)
		return append(appendContext(b, v), '\n')
	}
	if !named {
		service = head[:len(head)-1]
	}
	if !worded {
		word = []byte(severity.Word(v.Level))
	}
	b = append(append(b, f.before[:f.stamp+1]...), service...)
	b = append(append(append(b, '|'), word...), '|')
	return append(appendContext(append(b, v.Message...), v), '\n')
}

// appendContext appends the task, job and attributes of a raw line: nothing for a record of Analogger.
func appendContext(b []byte, v *logs.View) []byte {
	return appendAttrs(appendTask(b, v), v, severity.Key, logs.FromService)
}

// appendTask appends the task and the job.
func appendTask(b []byte, v *logs.View) []byte {
	if len(v.Task) > 0 {
		b = appendValue(append(b, " task="...), v.Task)
	}
	if len(v.Job) > 0 {
		b = appendValue(append(b, " job="...), v.Job)
	}
	return b
}

// long appends a line with attributes.
func (f *Format) long(b, head []byte, v *logs.View) []byte {
	if len(f.attrs) == 0 || !bytes.Equal(f.attrs, v.EncodedAttrs()) {
		f.prepareAttrs(v)
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
		b = appendAttrs(b, v, severity.Key)
	}
	return append(b, '\n')
}

// prepareAttrs prepares the text of other attributes.
func (f *Format) prepareAttrs(v *logs.View) {
	f.severity, f.attrs = nil, f.attrs[:0]
	attrs := v.EncodedAttrs()
	if len(attrs) == 0 {
		return
	}
	if len(attrs) <= keptAttrs {
		f.attrs, f.text = append(f.attrs, attrs...), appendAttrs(f.text[:0], v, severity.Key)
		attrs = f.attrs
	}
	if value, _, ok := logs.FindAttr(attrs, severity.Key); ok {
		f.severity, _ = value.Text()
	}
}

// appendField appends a field before the message, in which a | would end the field.
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

// appendAttrs appends the attributes, except those with certain keys.
func appendAttrs(b []byte, v *logs.View, but ...string) []byte {
	var buf [64]byte
	for attrs := v.EncodedAttrs(); len(attrs) > 0; {
		key, value, rest, ok := logs.NextAttr(attrs)
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
			b = appendValue(b, value.AppendText(buf[:0]))
		}
	}
	return b
}

// wordBytes are the bytes that a value without quotes may have.
var wordBytes = func() (word [256]bool) {
	for c := '!'; c <= '~'; c++ {
		word[c] = c != '"'
	}
	return word
}()

// appendWord is appendPrintable for short texts, which rarely need an escape.
func appendWord(b, text []byte) []byte {
	for _, c := range text {
		if !wordBytes[c] {
			return appendPrintable(b, text)
		}
	}
	return append(b, text...)
}

// appendValue appends the value of an attribute, in quotes if its end would be ambiguous.
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
