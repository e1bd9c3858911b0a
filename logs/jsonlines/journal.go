package jsonlines

import (
	"bytes"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Entries of journald, as "journalctl --output=json" writes them, have only strings as values: a time in microseconds, a priority of
// syslog, and the program and unit that have written the entry. A message with control characters, or that is not UTF-8, is a list of bytes.

// journalLevels are the levels of the priorities, from emergency to debug.
var journalLevels = [8]slog.Level{
	severity.Fatal, severity.Alert, severity.Critical, slog.LevelError,
	slog.LevelWarn, severity.Notice, slog.LevelInfo, slog.LevelDebug,
}

// journalPart returns the part that a field of an entry sets.
func journalPart(key []byte) part {
	switch string(key) {
	case "MESSAGE":
		return partMessage
	case "__REALTIME_TIMESTAMP":
		return partRealtime
	case "PRIORITY":
		return partPriority
	case "SYSLOG_IDENTIFIER":
		return partIdentifier
	case "_SYSTEMD_UNIT":
		return partUnit
	case "__CURSOR", "__MONOTONIC_TIMESTAMP", "__SEQNUM", "__SEQNUM_ID":
		return partPlace
	}
	return partAttr
}

// journalText sets the part of the record that a field of an entry stands for. It returns false for a field that is an attribute.
func (d *Decoder) journalText(part part, v *logs.View, text []byte) (ok bool) {
	switch {
	case part == partRealtime && !d.seen.time && len(text) > 0:
		microseconds, whole := integer(text)
		if !whole || microseconds < 0 || microseconds > 1<<63/1000-1 {
			return false
		}
		v.Time, d.seen.time = microseconds*1000, true
		return true
	case part == partPriority && !d.seen.level && len(text) == 1 && '0' <= text[0] && text[0] <= '7':
		v.Level, d.seen.level = journalLevels[text[0]-'0'], true
		return true
	case part == partIdentifier && d.identifier == nil:
		d.identifier = text
		return true
	case part == partUnit && d.unit == nil:
		d.unit = text // it is an attribute as well
	}
	return part == partPlace // the position in the journal of the machine is ignored
}

// journalService sets the service, if no other field has set it: to the identifier of the entry, or to its unit.
func (d *Decoder) journalService(v *logs.View) {
	switch {
	case len(v.Service) > 0 && d.identifier != nil:
		v.AddText([]byte("SYSLOG_IDENTIFIER"), d.identifier)
	case len(v.Service) > 0:
	case len(d.identifier) > 0:
		v.Service = d.identifier
	case d.unit != nil:
		v.Service = bytes.TrimSuffix(d.unit, []byte(".service"))
	}
}

// journalBytes reads a list of bytes into the memory of the decoder. If the value is not such a list, it returns false and reads nothing.
func (d *Decoder) journalBytes() (text []byte, ok bool) {
	s, from := d.scan, len(d.text)
	if !s.Take('[') {
		return nil, false
	}
	for {
		s.Space()
		number := s.Number()
		n, whole := int64(-1), false
		if number != nil {
			n, whole = integer(number)
		}
		if !whole || n < 0 || n > 255 {
			d.text = d.text[:from]
			return nil, false
		}
		d.text = append(d.text, byte(n))
		if s.Space(); s.Take(']') {
			d.scan = s
			return d.text[from:len(d.text):len(d.text)], true
		}
		if !s.Take(',') {
			d.text = d.text[:from]
			return nil, false
		}
	}
}
