package otlp

import (
	"context"
	"encoding/hex"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"google.golang.org/protobuf/encoding/protowire"
)

// An intake decodes one request, and adds its records to a batcher.
type intake struct {
	to      input.Batcher
	flush   func() error // of the batcher
	waiting body.Waiting // since the last flush
	records int64
}

func newIntake(ctx context.Context, to input.Batcher) *intake {
	return &intake{to: to, flush: func() error { return to.Flush(ctx) }}
}

// A flushError is an error of the batcher; other errors come from the body.
type flushError struct{ err error }

func (e *flushError) Error() string { return e.err.Error() }

// A making is a record that is being decoded, and the number of its attributes so far.
type making struct {
	logs.View
	attrs   int
	dropped uint64
}

// request adds the records of an ExportLogsServiceRequest. If that is malformed, the records before the error have been added.
func (in *intake) request(b []byte) error {
	return each(b, 1, in.resourceLogs)
}

// each calls fn for each message in the field with this number.
func each(b []byte, number protowire.Number, fn func(b []byte) error) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err == nil && f.message(number) {
			err = fn(f.data)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// resourceLogs adds the records of one ResourceLogs, in which the resource may follow its records.
func (in *intake) resourceLogs(b []byte) error {
	var m making
	err := each(b, 1, func(b []byte) error {
		return each(b, 1, func(b []byte) error { return m.pair("", b, true, 0) })
	})
	if err != nil {
		return err
	}
	if len(m.Service) == 0 {
		m.Service = []byte(logs.UnknownService)
	}
	return each(b, 2, func(b []byte) error { return in.scopeLogs(m, b) })
}

func (in *intake) scopeLogs(m making, b []byte) error {
	if err := each(b, 1, m.scope); err != nil {
		return err
	}
	return each(b, 2, func(b []byte) error { return in.logRecord(m, b) })
}

func (m *making) scope(b []byte) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		switch {
		case err != nil:
		case f.message(1) && len(f.data) > 0:
			err = m.add([]byte("otel.scope.name"), field{number: stringValue, data: f.data})
		case f.message(2) && len(f.data) > 0:
			err = m.add([]byte("otel.scope.version"), field{number: stringValue, data: f.data})
		case f.message(3):
			err = m.pair("", f.data, false, 0)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// logRecord adds one record. m has the service and the attributes of its resource and scope, which all records of the scope share.
func (in *intake) logRecord(m making, b []byte) error {
	var (
		number, observed   uint64
		name, trace, event []byte
		span               []byte
		flags              uint64
	)
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case f.is(1, protowire.Fixed64Type):
			m.Time = int64(f.bits)
		case f.is(11, protowire.Fixed64Type):
			observed = f.bits
		case f.is(2, protowire.VarintType):
			number = f.bits
		case f.message(3):
			name = f.data
		case f.message(5):
			body, err := readValue(f.data)
			if err == nil {
				m.Message, err = text(body)
			}
			if err != nil {
				return err
			}
		case f.message(6):
			if err := m.pair("", f.data, false, 0); err != nil {
				return err
			}
		case f.is(7, protowire.VarintType):
			m.dropped += f.bits & (1<<32 - 1)
		case f.is(8, protowire.Fixed32Type):
			flags = f.bits
		case f.message(9):
			trace = f.data
		case f.message(10):
			span = f.data
		case f.message(12):
			event = f.data
		}
	}
	if m.Time <= 0 {
		m.Time = max(0, int64(observed))
	}
	var more bool
	if m.Level, more = level(int64(number), string(name)); more {
		m.AddText([]byte(textKey), name)
	}
	if len(event) > 0 {
		m.AddText([]byte(eventKey), event)
	}
	if len(trace) == 16 {
		m.AddText([]byte(traceKey), hex.AppendEncode(nil, trace))
	}
	if len(span) == 8 {
		m.AddText([]byte(spanKey), hex.AppendEncode(nil, span))
	}
	if flags != 0 {
		m.AddAttr(slog.Uint64(flagsKey, flags))
	}
	if m.dropped > 0 {
		m.AddAttr(slog.Uint64(droppedKey, m.dropped))
	}
	in.records++
	full := in.waiting.Add(len(m.Message) + len(m.Task) + len(m.Job) + len(m.EncodedAttrs()))
	in.to.Add(&m.View)
	if !full {
		return nil
	}
	if err := in.flush(); err != nil {
		return &flushError{err}
	}
	return nil
}

// pair adds an attribute to the record, or sets the part of the record that its key stands for.
func (m *making) pair(prefix string, b []byte, resource bool, depth int) error {
	key, data, err := readPair(b)
	if err != nil {
		return err
	}
	if prefix != "" {
		if len(prefix)+len(key) > maxKey {
			m.dropped++
			return nil
		}
		key = append([]byte(prefix), key...)
	}
	value, err := readValue(data)
	if err != nil {
		return err
	}
	if value.number == kvlistValue && len(value.data) > 0 && depth < maxDepth {
		prefix = string(key) + "."
		return each(value.data, 1, func(b []byte) error { return m.pair(prefix, b, resource, depth+1) })
	}
	if value.number == stringValue {
		switch string(key) {
		case serviceKey:
			if resource {
				m.Service = value.data
				return nil
			}
		case taskKey:
			m.Task = value.data
			return nil
		case jobKey:
			m.Job = value.data
			return nil
		}
	}
	return m.add(key, value)
}

func (m *making) add(key []byte, value field) error {
	if m.attrs++; m.attrs > MaxAttrs {
		m.dropped++
		return nil
	}
	if value.number == stringValue {
		m.AddText(key, value.data)
		return nil
	}
	a, err := attr(string(key), value)
	if err == nil {
		m.AddAttr(a)
	}
	return err
}
