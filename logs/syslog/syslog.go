// Package syslog is the input for syslog: RFC 5424 and RFC 3164, over streams as RFC 6587 frames them, and datagrams.
//
// A record's service is the program that the message names, or "syslog" if it names none. Its host, process ID, message ID
// and facility are the attributes host, procid, msgid and facility; structured data is attributes as well, such as
// "exampleSDID@32473.iut". Missing parts of a message are tolerated, as by rsyslog.
//
// Cisco's systems do not name a program, but name each message: of "%SYS-5-CONFIG_I" the service is SYS, and msgid has the whole
// name. Counters before it are the attribute counter.
package syslog

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

const (
	// MaxMessage is how much of a message is kept, in bytes; the rest of a longer one is skipped, and its record has
	// the attribute "cut".
	MaxMessage = 256 << 10

	// MaxFrame is the buffer size a connection needs, in bytes.
	MaxFrame = MaxMessage + countDigits + 2

	countDigits = 9 // of the count before a message
)

// A Protocol receives messages of a connection: messages with their count of bytes before them, which may have several lines, and others.
// Of the others, each line is a message, unless the first one of the connection ends with a NUL, as those of Python's SysLogHandler do:
// then all end with a NUL, and may have several lines.
type Protocol struct {
	// Datagrams is set if each datagram is one message. A parser of datagrams parses everything in End.
	Datagrams bool

	// Location is the time zone of dates without a zone; nil: time.Local.
	Location *time.Location

	now func() time.Time // for tests; nil: time.Now
}

// Parser returns the parser for one connection. Messages that name no host have that of origin.
func (w *Protocol) Parser(origin string, state []byte) input.Parser {
	p := &parser{datagrams: w.Datagrams, location: w.Location, now: w.now}
	if p.location == nil {
		p.location = time.Local
	}
	if p.now == nil {
		p.now = time.Now
	}
	if host, _, err := net.SplitHostPort(origin); err == nil {
		origin = host
	}
	p.origin = []byte(origin)
	if passed, n := binary.Varint(state); n > 0 {
		p.pass = passed
		if len(state) > n {
			p.ends = delimiter(state[n])
		}
	}
	return p
}

type parser struct {
	datagrams bool
	origin    []byte
	location  *time.Location
	now       func() time.Time

	pass  int64 // how many bytes of a truncated message are still to be skipped, or passLine
	ends  delimiter
	waits bool // whether it waits to find out what ends messages

	view    logs.View // here, because a variable would be allocated for each call
	scratch []byte
	large   bool // the two above are large
	header  header
	hour    hour
	minute  minute
}

const passLine = -1 // all up to the end of the message

// lineEnd returns where a line ends, or -1 if that is not in data.
func lineEnd(data []byte) int {
	i := bytes.IndexByte(data, '\n')
	if i >= 0 {
		data = data[:i]
	}
	if nul := bytes.IndexByte(data, 0); nul >= 0 {
		return nul
	}
	return i
}

// Parse parses whole messages.
func (p *parser) Parse(data []byte, to input.Batcher) (taken int, reply []byte, err error) {
	if p.datagrams {
		return 0, nil, nil
	}
	defer p.forget()
	for taken < len(data) {
		if p.pass != 0 {
			if taken += p.passOver(data[taken:]); p.pass != 0 {
				break
			}
			continue
		}
		frame, size, pass, ok := p.next(data[taken:])
		if !ok {
			break
		}
		taken += size
		p.pass = pass
		p.message(frame, pass != 0, to)
	}
	return taken, nil, nil
}

// End parses a last message that nothing ends, or a datagram.
func (p *parser) End(data []byte, to input.Batcher) {
	defer p.forget()
	if p.ends == notKnown && !p.datagrams {
		p.Quiet()
		taken, _, _ := p.Parse(data, to)
		data = data[taken:]
	}
	if p.pass != 0 || len(data) == 0 {
		return
	}
	if _, _, counted := count(data); counted && !p.datagrams {
		to.Refuse("half a message")
		return
	}
	p.message(data[:min(len(data), MaxMessage)], len(data) > MaxMessage, to)
}

// State returns what is still to be skipped, and what ends messages.
func (p *parser) State() []byte {
	if p.pass == 0 && p.ends == notKnown {
		return nil
	}
	return append(binary.AppendVarint(nil, p.pass), byte(p.ends))
}

// forget drops the references to the data of a call, and the memory that a large message needed.
func (p *parser) forget() {
	if p.view.Reset(); p.large {
		p.view, p.scratch, p.large = logs.View{}, nil, false
	}
	p.hour.checked = false
}

// passOver returns how many bytes of data belong to a message that was truncated.
func (p *parser) passOver(data []byte) int {
	if p.pass == passLine {
		i := p.end(data)
		if i < 0 {
			return len(data)
		}
		p.pass = 0
		return i + 1
	}
	n := min(int64(len(data)), p.pass)
	p.pass -= n
	return int(n)
}

// next finds the message at the beginning of data, the size of its frame, and how much is to be skipped after it.
func (p *parser) next(data []byte) (frame []byte, size int, pass int64, ok bool) {
	if c := data[0]; '1' <= c && c <= '9' {
		n, head, ok := count(data)
		switch room := head + min(n, MaxMessage); {
		case !ok && n > 0, ok && len(data) < room:
			return nil, 0, 0, false
		case ok:
			return data[head:room], room, int64(head + n - room), true
		}
	}
	return p.uncounted(data)
}

// count reads the count before a message, which a space and the < of the message follow: a line may begin with digits as well. If ok is
// false and n is above zero, more data may make it a count.
func count(data []byte) (n, head int, ok bool) {
	for i, c := range data[:min(len(data), countDigits+1)] {
		switch {
		case '0' <= c && c <= '9' && i < countDigits:
			n = n*10 + int(c-'0')
		case c != ' ':
			return 0, 0, false
		case i+1 == len(data):
			return n, 0, false
		case data[i+1] != '<':
			return 0, 0, false
		default:
			return n, i + 1, true
		}
	}
	return n, 0, false
}

// message adds the record of one message.
func (p *parser) message(text []byte, cut bool, to input.Batcher) {
	if p.ends == nuls { // a line feed may follow the NUL before
		text = bytes.TrimLeft(text, "\r\n")
	}
	for len(text) > 0 { // the characters that senders end messages with
		if c := text[len(text)-1]; c != '\n' && c != '\r' && c != 0 {
			break
		}
		text = text[:len(text)-1]
	}
	if len(text) == 0 {
		return
	}
	p.large = p.large || len(text) > 8<<10
	v := &p.view
	v.Reset()
	priority, rest, ok := cutPriority(text)
	if !ok && !readable(text) {
		to.Refuse("no message")
		return
	}
	if facility := priority >> 3; !ok || !p.modern(rest, facility) {
		p.legacy(rest, facility)
	}
	v.Level = levels[priority&7]
	if len(v.Service) == 0 {
		v.Service = unnamed
	}
	if cut {
		v.AddAttr(slog.Bool("cut", true))
	}
	to.Add(v)
}

// readable reports whether a message without a priority is a line of text, perhaps with colours, and not another protocol.
func readable(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0x1b {
			return false
		}
	}
	return utf8.Valid(text)
}

var unnamed = []byte("syslog")
