package jsonlines

import (
	"bytes"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

const (
	// MaxLine is the maximum length of a line, in bytes. Over a connection a longer line is truncated: its record has the beginning of the
	// line as message, and the attribute "cut".
	MaxLine = 256 << 10

	// MaxFrame is the buffer size that a connection needs, in bytes.
	MaxFrame = MaxLine + 1
)

// Service is the service of records that name none.
const Service = "json"

// A Protocol parses the lines of a connection. A line that is not a JSON object becomes a record with the line as message.
type Protocol struct {
	Service string // of records that name none; empty: [Service]
}

// Parser returns the parser for one connection.
func (w *Protocol) Parser(_ string, state []byte) input.Parser {
	p := &parser{passing: len(state) == 1 && state[0] == 1, service: []byte(w.Service)}
	if w.Service == "" {
		p.service = []byte(Service)
	}
	return p
}

type parser struct {
	service []byte
	passing bool // whether it skips the rest of a line that was truncated

	decoder Decoder
	view    logs.View // a field, because a local variable would be allocated at each call
}

// Parse adds the records of whole lines.
func (p *parser) Parse(data []byte, to input.Batcher) (taken int, reply []byte, err error) {
	defer p.view.Reset()
	for taken < len(data) {
		line := data[taken:min(len(data), taken+MaxLine+1)]
		i := bytes.IndexByte(line, '\n')
		switch {
		case p.passing:
			if p.passing = i < 0; p.passing {
				i = len(line) - 1
			}
		case i >= 0:
			p.line(line[:i], false, to)
		case len(line) > MaxLine:
			p.line(line[:MaxLine], true, to)
			p.passing = true
			i = MaxLine - 1
		default:
			return taken, nil, nil
		}
		taken += i + 1
	}
	return taken, nil, nil
}

// End adds the record of a last line without a line feed.
func (p *parser) End(data []byte, to input.Batcher) {
	defer p.view.Reset()
	if !p.passing {
		p.line(data, false, to)
	}
}

// State returns whether the parser skips the rest of a line.
func (p *parser) State() []byte {
	if p.passing {
		return []byte{1}
	}
	return nil
}

func (p *parser) line(line []byte, cut bool, to input.Batcher) {
	if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if cut || p.decoder.Decode(line, &p.view) != nil {
		p.view.Reset()
		p.view.Message = line
	}
	if len(p.view.Service) == 0 {
		p.view.Service = p.service
	}
	if cut {
		p.view.AddAttr(slog.Bool("cut", true))
	}
	to.Add(&p.view)
}
