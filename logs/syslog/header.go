package syslog

import (
	"bytes"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A header is what stood between the date of the last message and its text or structured data: host, program, process,
// message ID. The next message of a connection mostly has the same, and need not be taken apart then.
type header struct {
	text     []byte // ends with a space, so that what follows does not change what it says
	modern   bool
	facility int
	service  []byte
	attrs    []byte // encoded
}

const keptHeader = 256 // the longest one, in bytes

// cut cuts the header off a text that begins with it, and adds to the record what it says.
func (h *header) cut(v *logs.View, text []byte, modern bool, facility int) (rest []byte, ok bool) {
	if len(h.text) == 0 || modern != h.modern || facility != h.facility || !bytes.HasPrefix(text, h.text) {
		return text, false
	}
	v.Service = h.service
	v.AddEncodedAttrs(h.attrs)
	return text[len(h.text):], true
}

// keep keeps a header, and what the record has of it.
func (h *header) keep(v *logs.View, text []byte, modern bool, facility int) {
	if len(text) > keptHeader || len(text) == 0 || text[len(text)-1] != ' ' {
		h.text = h.text[:0]
		return
	}
	h.text, h.modern, h.facility = append(h.text[:0], text...), modern, facility
	h.service, h.attrs = append(h.service[:0], v.Service...), append(h.attrs[:0], v.EncodedAttrs()...)
}
