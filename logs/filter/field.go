package filter

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A field is a part of a record that a term reads.
type field int

const (
	fieldAttr field = iota // one of the attributes
	fieldTime
	fieldLevel
	fieldNumber
	fieldService
	fieldMessage
	fieldTask
	fieldJob
)

var fields = map[string]field{
	"time": fieldTime, "level": fieldLevel, "number": fieldNumber,
	"service": fieldService, "message": fieldMessage, "task": fieldTask, "job": fieldJob,
}

func (f field) text(v *logs.View) []byte {
	switch f {
	case fieldService:
		return v.Service
	case fieldTask:
		return v.Task
	case fieldJob:
		return v.Job
	}
	return v.Message
}

// AppendValue appends the value that a record has for a key of filters, as text; nothing if it has none. A key in quotes is the key of
// an attribute.
func AppendValue(b []byte, v *logs.View, key string) []byte {
	f := fields[key]
	if inner, ok := strings.CutPrefix(key, `"`); ok && len(inner) > 0 && strings.HasSuffix(inner, `"`) {
		key, f = inner[:len(inner)-1], fieldAttr
		if strings.Contains(key, `\`) {
			key = quoted.Replace(key)
		}
	}
	switch f {
	case fieldAttr:
		value, _, ok := logs.FindAttr(v.EncodedAttrs(), key)
		if !ok {
			return b
		}
		return value.AppendText(b)
	case fieldTime:
		return time.Unix(0, v.Time).UTC().AppendFormat(b, time.RFC3339Nano)
	case fieldNumber:
		return strconv.AppendUint(b, v.Number, 10)
	case fieldLevel:
		return append(b, v.Level.String()...)
	default:
		return append(b, f.text(v)...)
	}
}

// quoted replaces the escapes of a quote and of a backslash in a quoted text.
var quoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// A between matches a time, a level or a number in a range.
type between struct {
	anywhere
	field  field
	lo, hi int64 // both included; nothing matches if lo is above hi
}

func (b *between) match(v *logs.View) bool {
	n := v.Time
	switch b.field {
	case fieldLevel:
		n = int64(v.Level)
	case fieldNumber:
		n = int64(v.Number)
	}
	return b.lo <= n && n <= b.hi
}

func (b *between) bounds(of field) (lo, hi int64) {
	if of == b.field {
		return b.lo, b.hi
	}
	return b.anywhere.bounds(of)
}

func (b *between) negate() expr { return notTerm{b} }

// A fieldIs matches a record with a text that is one of several, regardless of case.
type fieldIs struct {
	anywhere
	field field
	texts []wanted
}

// A wanted is a text to compare with.
type wanted struct {
	folded
	prefix bool // a text that begins with it matches, too
}

func (w *wanted) is(text []byte) bool {
	rest, ok := w.cut(text)
	return ok && (len(rest) == 0 || w.prefix)
}

func (f *fieldIs) match(v *logs.View) bool { return f.is(f.field.text(v)) }

func (f *fieldIs) is(text []byte) bool {
	for i := range f.texts {
		w := &f.texts[i]
		if w.is(text) {
			return true
		}
		if f.field != fieldTask || len(w.text) == 0 {
			continue
		}
		// Tasks below a task match as well.
		if rest, ok := w.cut(text); ok && len(rest) > 0 && (rest[0] == '/' || bytes.HasSuffix(w.text, []byte("/"))) {
			return true
		}
	}
	return false
}

func (f *fieldIs) decided(service string) (match, known bool) {
	return f.field == fieldService && f.is([]byte(service)), f.field == fieldService
}

func (f *fieldIs) service(name string) bool { return f.field != fieldService || f.is([]byte(name)) }

func (f *fieldIs) tokens(have []uint64) []uint64 {
	if len(f.texts) != 1 || f.texts[0].prefix || f.texts[0].wide || len(f.texts[0].text) == 0 {
		return have // the index does not fold the case of letters other than ASCII
	}
	text := f.texts[0].text
	switch f.field {
	case fieldMessage:
		have = appendWords(have, text)
	case fieldTask:
		if !bytes.HasSuffix(text, []byte("/")) {
			have = append(have, AttrToken([]byte("task"), text))
		}
	case fieldJob:
		have = append(have, AttrToken([]byte("job"), text))
	}
	return have
}

func (f *fieldIs) negate() expr { return notTerm{f} }

// A fieldLike matches a text of the record by a regular expression.
type fieldLike struct {
	anywhere
	field   field
	pattern *pattern
}

func (f *fieldLike) match(v *logs.View) bool { return f.pattern.match(f.field.text(v)) }

func (f *fieldLike) decided(service string) (match, known bool) {
	return f.field == fieldService && f.pattern.match([]byte(service)), f.field == fieldService
}

func (f *fieldLike) service(name string) bool {
	return f.field != fieldService || f.pattern.match([]byte(name))
}

func (f *fieldLike) negate() expr { return notTerm{f} }
