package syslog

import (
	"bytes"
	"log/slog"
)

// The keys of attributes.
var (
	keyFacility = []byte("facility")
	keyHost     = []byte("host")
	keyProcess  = []byte("procid")
	keyMessage  = []byte("msgid")
	keyCounter  = []byte("counter")
	keyNode     = []byte("node")
	keyDevice   = []byte("device")
)

const maxParams = 256 // of one message; further ones are left out, and counted

// modern reads a message of RFC 5424 after its priority. It returns false if it is not one, and then does not change the record.
func (p *parser) modern(text []byte, facility int) bool {
	if len(text) < 3 || text[0] != '1' || text[1] != ' ' {
		return false
	}
	text = text[2:]
	v := &p.view
	stamp := int64(0)
	if text[0] == '-' {
		text = text[1:]
	} else {
		var ok bool
		if stamp, text, ok = p.minute.cut(text); !ok {
			return false
		}
	}
	if len(text) == 0 || text[0] != ' ' {
		return false
	}
	text = text[1:]
	rest, known := p.header.cut(v, text, true, facility)
	if !known {
		var ok bool
		if rest, ok = p.fields(text, facility); !ok {
			return false
		}
	}
	data, rest, ok := cutData(rest)
	if !ok {
		v.Reset()
		return false
	}
	if data != nil {
		p.params(data)
	}
	v.Time, v.Message = stamp, trimMark(rest)
	return true
}

// fields reads host, program, process and message ID, and adds them to the record.
func (p *parser) fields(text []byte, facility int) (rest []byte, ok bool) {
	var fields [4][]byte
	rest = text
	for i := range fields {
		end := 0
		for end < len(rest) && rest[end] != ' ' { // words are short: this loop is faster than a call
			end++
		}
		if end == 0 || end == len(rest) {
			return nil, false
		}
		if end > 1 || rest[0] != '-' {
			fields[i] = rest[:end]
		}
		rest = rest[end+1:]
	}
	if fields[0] == nil {
		fields[0] = p.origin
	}
	v := &p.view
	v.Service = fields[1]
	p.attr(keyFacility, facilities[facility])
	p.attr(keyHost, fields[0])
	p.attr(keyProcess, fields[2])
	p.attr(keyMessage, fields[3])
	p.header.keep(v, text[:len(text)-len(rest)], true, facility)
	return rest, true
}

// trimMark removes the byte order mark, which declares a text to be UTF-8.
func trimMark(text []byte) []byte {
	if len(text) >= 3 && text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf {
		return text[3:]
	}
	return text
}

func (p *parser) attr(key, value []byte) {
	if len(value) > 0 {
		p.view.AddText(key, value)
	}
}

// cutData splits structured data, and the space that follows it, from the rest of a message.
func cutData(text []byte) (data, rest []byte, ok bool) {
	end := 0
	switch {
	case len(text) == 0:
		return nil, nil, false
	case text[0] == '-':
		end = 1
	default:
		for end < len(text) && text[end] == '[' {
			n := element(text[end:])
			if n == 0 {
				return nil, nil, false
			}
			end += n
		}
		data = text[:end]
	}
	switch {
	case end == len(text):
		return data, nil, true
	case end == 0 || text[end] != ' ':
		return nil, nil, false
	}
	return data, text[end+1:], true
}

// element returns the length of an element [id name="value" …], or zero. Only a value, between quotes, may hold brackets.
func element(text []byte) int {
	quoted := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ']' && !quoted:
			return i + 1
		}
	}
	return 0
}

// params adds the parameters of structured data as attributes. An element without parameters is an attribute itself.
func (p *parser) params(data []byte) {
	count := 0
	for len(data) > 0 {
		n := element(data)
		inside := data[1 : n-1]
		data = data[n:]
		id, inside, found := bytes.Cut(inside, space)
		if !found {
			if count++; count <= maxParams {
				p.view.AddText(id, nil)
			}
		}
		for {
			name, after, found := bytes.Cut(bytes.TrimLeft(inside, " "), equals)
			if !found {
				break
			}
			var value []byte
			value, inside = p.value(after, len(id)+1+len(name))
			if count++; count <= maxParams {
				p.view.AddText(append(append(append(p.scratch[:0], id...), '.'), name...), value)
			}
		}
	}
	if count > maxParams {
		p.view.AddAttr(slog.Int("logs.attributes_left_out", count-maxParams))
	}
}

var (
	space  = []byte(" ")
	equals = []byte(`="`)
)

// value reads a value after its opening quote. A value with escapes is unescaped into the scratch buffer, after room bytes for its key.
func (p *parser) value(text []byte, room int) (value, rest []byte) {
	i := 0
	for i < len(text) && text[i] != '"' && text[i] != '\\' {
		i++
	}
	if i == len(text) || text[i] == '"' {
		p.scratch = grow(p.scratch, room)
		return text[:i], text[min(i+1, len(text)):]
	}
	p.scratch = grow(p.scratch, room+len(text))
	value = append(p.scratch[room:room], text[:i]...)
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' && i+1 < len(text) && bytes.IndexByte([]byte(`"\]`), text[i+1]) >= 0 {
			i++
		}
		value = append(value, text[i])
	}
	return value, text[min(i+1, len(text)):]
}

// grow returns an empty buffer with a capacity of at least n bytes.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, 0, 2*n)
	}
	return b[:0]
}
