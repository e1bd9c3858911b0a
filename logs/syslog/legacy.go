package syslog

import (
	"bytes"

	"github.com/meanwhile-go/meanwhile/internal/severity"
)

// legacy reads what follows the priority of a message of RFC 3164, "date host tag[process]: text", of which each part may be missing. A
// word counts as the tag when a colon or the process ends it, so that the first word of a text does not become a service.
func (p *parser) legacy(text []byte, facility int) {
	v := &p.view
	stamp, text := p.cutDate(text)
	v.Time = stamp
	if p.device(text, stamp, facility) {
		return
	}
	if rest, known := p.header.cut(v, text, false, facility); known {
		v.Message = trimMark(rest)
		return
	}
	begin, host := text, p.origin
	program, ok := cutProgram(text)
	if !ok {
		if word, after, found := cutHost(text); found && !isTag(word) {
			program, ok = cutProgramOf(after)
			if ok || stamp != 0 { // without either, the word belongs to the text
				host, text = bytes.TrimSuffix(word, []byte(":")), after
			}
		}
	}
	v.Service = program.tag
	p.attr(keyFacility, facilities[facility])
	p.attr(keyHost, host)
	p.attr(keyProcess, program.process)
	p.attr(keyDevice, program.device)
	if ok {
		text = program.rest
		p.header.keep(v, begin[:len(begin)-len(text)], false, facility)
	}
	v.Message = trimMark(text)
}

// A program is the sender of a message, as the message names it.
type program struct {
	tag, process []byte
	device       []byte // 788a20f01234,UAP-AC-Lite-6.0.21: of an access point, before the tag
	rest         []byte // what follows
}

// cutProgram cuts off the program: a tag that is neither a counter nor an address, since one of these would make a service of each
// message, or of each device.
func cutProgram(text []byte) (p program, ok bool) {
	tag, process, rest, ok := cutTag(text)
	if !ok || process == nil && isNumber(tag) || isAddress(tag) {
		return p, false
	}
	p = program{tag: tag, process: process, rest: rest}
	if bytes.IndexByte(tag, ',') < 0 {
		return p, true
	}
	p.device = tag
	p.tag, p.process, p.rest, ok = cutTag(rest)
	if !ok {
		return program{}, false
	}
	return p, true
}

// cutProgramOf cuts off the program after a host: with some load balancers a level stands before it, "info tmm[7]:".
func cutProgramOf(text []byte) (p program, ok bool) {
	if p, ok = cutProgram(text); ok {
		return p, true
	}
	word, rest, _ := cutHost(text)
	if _, level := severity.Level(word); !level {
		return p, false
	}
	return cutProgram(rest)
}

// isTag reports whether a word ends with a colon, as a tag does, and is not an address.
func isTag(word []byte) bool {
	short, colon := bytes.CutSuffix(word, []byte(":"))
	return colon && !isAddress(short) && !bytes.HasSuffix(short, []byte(":"))
}

// maxTag is the largest length of a tag in bytes, and of its process ID. RFC 3164 has 32.
const maxTag = 1 << 10

// cutTag cuts "tag:", "tag[process]:" or "tag[process]" off, and a space that follows it.
func cutTag(text []byte) (tag, process, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i <= maxTag && text[i] > ' ' && text[i] != ':' && text[i] != '[' && text[i] != '<' {
		i++
	}
	if i == 0 || i == len(text) || i > maxTag {
		return nil, nil, nil, false
	}
	tag, rest = text[:i], text[i:]
	if rest[0] == '[' {
		end := 1
		for end < len(rest) && rest[end] != ']' {
			if rest[end] <= ' ' || rest[end] == '[' || end > maxTag {
				return nil, nil, nil, false
			}
			end++
		}
		if end == len(rest) {
			return nil, nil, nil, false
		}
		process, rest = rest[1:end], rest[end+1:]
		if len(rest) > 0 && rest[0] == ':' {
			rest = rest[1:]
		}
	} else if rest[0] != ':' {
		return nil, nil, nil, false
	} else {
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
	case rest[0] == ' ':
		rest = rest[1:]
	case process == nil: // "10:15", "http://…"
		return nil, nil, nil, false
	}
	return tag, process, rest, true
}

// cutHost cuts a word off that may name a host, and the space that follows it.
func cutHost(text []byte) (host, rest []byte, ok bool) {
	for i, c := range text[:min(len(text), 256)] {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_', c == ':', c == '%':
		case c == ' ' && i > 0:
			return text[:i], text[i+1:], true
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}
