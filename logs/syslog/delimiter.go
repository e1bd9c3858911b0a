package syslog

import "bytes"

// A delimiter is what ends the messages of a connection that have no count before them.
type delimiter byte

const (
	notKnown delimiter = iota
	lineFeeds
	nuls // as with Python's SysLogHandler, whose messages may have several lines: a traceback is one message
)

// delimiterOf detects from the first messages of a connection what ends them. It is unknown while a line has ended and the next one may
// belong to the same message: then a NUL will follow, or the beginning of another message.
func delimiterOf(data []byte) delimiter {
	for {
		i := lineEnd(data)
		switch {
		case i < 0:
			return notKnown
		case data[i] == 0:
			return nuls
		}
		data = data[i+1:]
		switch begins, sure := beginsMessage(data); {
		case !sure:
			return notKnown
		case begins:
			return lineFeeds
		}
	}
}

// beginsMessage reports whether data begins with a priority or a count, and whether there is enough of it to be sure.
func beginsMessage(data []byte) (begins, sure bool) {
	if len(data) == 0 {
		return false, false
	}
	if data[0] == '<' {
		return len(data) > 1 && data[1]-'0' <= 9, len(data) > 1
	}
	n, _, counted := count(data)
	return counted, counted || n == 0
}

// Waits reports whether Parse has left a message whose line has ended, because more lines of it may follow.
func (p *parser) Waits() bool { return p.waits }

// Quiet notes that nothing has followed for a while, so each line is a message.
func (p *parser) Quiet() {
	p.waits = false
	p.ends = lineFeeds
}

// uncounted finds the message at the beginning of data that has no count before it, as next does.
func (p *parser) uncounted(data []byte) (frame []byte, size int, pass int64, ok bool) {
	line := data[:min(len(data), MaxMessage+1)]
	p.waits = false
	if p.ends == notKnown && line[0] == '<' {
		if p.ends = delimiterOf(line); p.ends == notKnown && len(line) <= MaxMessage {
			p.waits = lineEnd(line) >= 0
			return nil, 0, 0, false
		}
	}
	switch i := p.end(line); {
	case i >= 0:
		return line[:i], i + 1, 0, true
	case len(line) > MaxMessage:
		return line[:MaxMessage], MaxMessage, passLine, true
	}
	return nil, 0, 0, false
}

// end returns where an uncounted message ends, or -1 if that is not in data.
func (p *parser) end(data []byte) int {
	if p.ends == nuls {
		return bytes.IndexByte(data, 0)
	}
	return lineEnd(data)
}
