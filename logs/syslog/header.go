package syslog

import (
	"bytes"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A header caches the text between the date of the last message and its text or structured data: host, program, process, message ID. The
// next message of a connection usually has the same header, which then need not be parsed.
type header struct {
	text     []byte // ends with a space, so that its meaning does not depend on what follows
	modern   bool
	facility int
	service  []byte
	attrs    []byte // encoded
}

const keptHeader = 256 // the longest one, in bytes

// cut cuts the header off a text that begins with it, and adds its fields to the record.
func (h *header) cut(v *logs.View, text []byte, modern bool, facility int) (rest []byte, ok bool) {
	if len(h.text) == 0 || modern != h.modern || facility != h.facility || !bytes.HasPrefix(text, h.text) {
		return text, false
	}
	v.Service = h.service
	v.AddEncodedAttrs(h.attrs)
	return text[len(h.text):], true
}

// keep keeps a header, and the fields that the record has from it.
func (h *header) keep(v *logs.View, text []byte, modern bool, facility int) {
	if len(text) > keptHeader || len(text) == 0 || text[len(text)-1] != ' ' {
		h.text = h.text[:0]
		return
	}
	h.text, h.modern, h.facility = append(h.text[:0], text...), modern, facility
	h.service, h.attrs = append(h.service[:0], v.Service...), append(h.attrs[:0], v.EncodedAttrs()...)
}
