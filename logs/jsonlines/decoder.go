package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	maxAttrs   = 1000 // of one record; further ones are left out and counted
	maxFlat    = 16   // depth from which on an object is kept as the value of an attribute
	maxNesting = 100  // depth beyond which a line is not decoded as JSON
	maxKey     = 1024 // bytes of an attribute's key with the keys of the objects around it
)

// A Decoder decodes lines of JSON into records. The zero Decoder is ready. It must not be used concurrently.
type Decoder struct {
	scan             jsonscan.Scanner
	key              []byte // of the current field, with the keys of the objects around it
	text             []byte // unescaped texts
	seen             seen
	name             []byte // bunyan's
	log              []byte // the message of Docker and Fluent Bit
	identifier, unit []byte // of journald
	attrs            int
	plain            bool              // in the object attrs, whose fields are attributes whatever their names
	keys             map[string]string // keys of earlier attributes, since the records of one program have the same keys
}

// seen has the parts of a record that its object has set.
type seen struct{ time, level, message, service, task, job, number bool }

// Decode decodes the JSON object in a line into v, which it resets first. The view refers to the line and to the decoder, until the next
// call. An error reports the position at which the line is not a JSON object, or exceeds a limit; then v is empty.
func (d *Decoder) Decode(line []byte, v *logs.View) error {
	v.Reset()
	d.scan = jsonscan.New(line)
	d.key, d.text, d.seen, d.name, d.log, d.identifier, d.unit, d.attrs, d.plain = d.key[:0], d.text[:0], seen{}, nil, nil, nil, nil, 0, false
	if cap(d.text) > 64<<10 {
		d.text = nil
	}
	d.scan.Space()
	err := d.object(v, 1)
	if d.scan.Space(); err == nil && !d.scan.AtEnd() {
		err = errors.New("more follows the object")
	}
	if err != nil {
		v.Reset()
		return fmt.Errorf("byte %d: %w", d.scan.Offset()+1, err)
	}
	if d.name != nil {
		if d.seen.number && len(v.Service) == 0 {
			v.Service = d.name
		} else {
			v.AddText([]byte("name"), d.name)
		}
	}
	if d.identifier != nil || d.unit != nil {
		d.journalService(v)
	}
	if d.attrs > maxAttrs {
		v.AddAttr(slog.Int("logs.attributes_left_out", d.attrs-maxAttrs))
	}
	if d.log != nil {
		d.log = bytes.TrimRight(d.log, "\r\n") // Docker keeps the line feed
		if d.seen.message {
			v.AddText([]byte("log"), d.log)
		} else {
			v.Message = d.log
		}
	}
	return nil
}

// object reads an object and its members at the given depth.
func (d *Decoder) object(v *logs.View, depth int) error {
	s := &d.scan
	if !s.Take('{') {
		return errors.New("no object")
	}
	prefix := len(d.key)
	for first := true; ; first = false {
		s.Space()
		if s.Take('}') {
			if !first {
				return errors.New("a comma, and no field after it")
			}
			return nil
		}
		key, err := d.string()
		if err != nil {
			return err
		}
		if len(d.key)+len(key) > maxKey {
			return errors.New("a key is too long")
		}
		d.key = append(d.key, key...)
		s.Space()
		if !s.Take(':') {
			return errors.New("no colon after a key")
		}
		s.Space()
		if err := d.value(v, depth); err != nil {
			return err
		}
		d.key = d.key[:prefix]
		if s.Space(); s.Take('}') {
			return nil
		}
		if !s.Take(',') {
			return errors.New("no comma after a value")
		}
	}
}

// value reads the value of the field d.key.
func (d *Decoder) value(v *logs.View, depth int) error {
	s := &d.scan
	switch c := s.Peek(); {
	case c == '"':
		text, err := d.string()
		if err == nil {
			d.addText(v, text)
		}
		return err
	case c == '{' && depth == 1 && string(d.key) == "attrs" && !s.Empty():
		d.key, d.plain = d.key[:0], true
		err := d.object(v, depth+1)
		d.plain = false
		return err
	case c == '{' && depth < maxFlat && !s.Empty():
		d.key = append(d.key, '.')
		return d.object(v, depth+1)
	case c == '[' && depth == 1 && string(d.key) == "MESSAGE":
		if text, ok := d.journalBytes(); ok {
			d.addText(v, text)
			return nil
		}
		return d.skip(v, depth)
	case c == '{', c == '[':
		return d.skip(v, depth)
	case c == 't' && s.Word("true"), c == 'f' && s.Word("false"):
		d.add(v, slog.BoolValue(c == 't'))
		return nil
	case c == 'n' && s.Word("null"):
		d.add(v, slog.AnyValue(nil))
		return nil
	}
	number := s.Number()
	if number == nil {
		return errors.New("no value")
	}
	d.addNumber(v, number)
	return nil
}

// skip reads a value without decoding it, and adds its JSON as an attribute.
func (d *Decoder) skip(v *logs.View, depth int) error {
	from := d.scan.Offset()
	if err := d.scan.Skip(maxNesting - depth); err != nil {
		return err
	}
	d.add(v, slog.AnyValue(json.RawMessage(d.scan.Since(from))))
	return nil
}

// string reads a text. The result refers to the line, or to d.text if the text has escapes.
func (d *Decoder) string() ([]byte, error) {
	raw, escaped, err := d.scan.String()
	if err != nil || !escaped {
		return raw, err
	}
	from := len(d.text)
	if d.text, err = jsonscan.Unescape(d.text, raw); err != nil {
		return nil, err
	}
	return d.text[from:len(d.text):len(d.text)], nil
}

// addText sets the part of the record that the field d.key stands for, or adds an attribute.
func (d *Decoder) addText(v *logs.View, text []byte) {
	switch part := d.part(); {
	case part == partMessage && set(&d.seen.message):
		v.Message = text
		return
	case part == partService && set(&d.seen.service):
		v.Service = text
		return
	case part == partTask && set(&d.seen.task):
		v.Task = text
		return
	case part == partJob && set(&d.seen.job):
		v.Job = text
		return
	case part == partName && d.name == nil:
		d.name = text
		return
	case part == partLog && d.log == nil:
		d.log = text
		return
	case part >= partRealtime && d.journalText(part, v, text):
		return
	case part == partTime && !d.seen.time:
		if at, ok := parseTime(text); ok {
			v.Time, d.seen.time = at, true
			return
		}
	case part == partLevel && !d.seen.level:
		if level, ok := severity.Level(text); ok {
			v.Level, d.seen.level = level, true
			return
		}
	}
	if d.attrs++; d.attrs <= maxAttrs {
		v.AddText(d.key, text)
	}
}

func set(seen *bool) (first bool) {
	first, *seen = !*seen, true
	return first
}

func (d *Decoder) addNumber(v *logs.View, number []byte) {
	switch part := d.part(); {
	case part == partTime && !d.seen.time:
		if at, ok := sinceEpoch(number); ok {
			v.Time, d.seen.time = at, true
			return
		}
	case part == partLevel && !d.seen.level:
		if level, bunyan, ok := numberedLevel(number); ok {
			v.Level, d.seen.level, d.seen.number = level, true, bunyan
			return
		}
	}
	if n, ok := integer(number); ok {
		d.add(v, slog.Int64Value(n))
		return
	}
	text := string(number)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		d.add(v, slog.Int64Value(n))
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		d.add(v, slog.Uint64Value(n))
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		d.add(v, slog.Float64Value(f))
	} else {
		d.add(v, slog.AnyValue(json.RawMessage(text)))
	}
}

func (d *Decoder) add(v *logs.View, value slog.Value) {
	if d.attrs++; d.attrs <= maxAttrs {
		v.AddAttr(slog.Attr{Key: d.keyText(), Value: value})
	}
}

// keyText returns d.key as a string, without an allocation if an earlier record had the same key.
func (d *Decoder) keyText() string {
	if key, ok := d.keys[string(d.key)]; ok {
		return key
	}
	key := string(d.key)
	if len(d.keys) < 256 && len(key) <= 64 {
		if d.keys == nil {
			d.keys = make(map[string]string)
		}
		d.keys[key] = key
	}
	return key
}

// HasLevel reports whether the object of the last Decode had a level.
func (d *Decoder) HasLevel() bool { return d.seen.level }
