// Package analogger is the input for clients of Analogger, and reads its configuration file.
//
// A frame is LLLLLLLL:service:severity:message. Its head is the length of the whole frame, written twice with four digits. The first frame
// of a connection has the key in place of the message and is answered; the frames after it are not.
package analogger

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// MaxFrame is the buffer size that a connection needs for one frame, in bytes. A longer frame is refused.
const MaxFrame = 8191

// Service is the service of records that name none. They get an empty attribute from_service.
const Service = "analogger"

// The answers to clients.
const (
	accepted = "accepted\n"
	denied   = "denied\n"
	checksum = "error: checksum failed\n"
	tooLong  = "error: max length exceeded\n"
)

const (
	headLength = 8
	minFrame   = headLength + 3 // with the colons
)

// A Protocol parses the frames of clients of Analogger. The severities debug, info, warn, error and fatal are levels; any other word
// is kept as the attribute "severity", and the level is the one that the word stands for, or info.
type Protocol struct {
	Key string // the key that a client has to send first; empty: an empty key
}

// Parser returns the parser for one connection.
func (w *Protocol) Parser(_ string, state []byte) input.Parser {
	return &parser{key: sha256.Sum256([]byte(w.Key)), admitted: len(state) == 1 && state[0] == 1}
}

type parser struct {
	key      [sha256.Size]byte
	admitted bool
	view     logs.View // a field, because a local variable would be allocated at each call
}

var (
	errHead   = errors.New("the head of a frame is not its length, twice")
	errDenied = errors.New("the first frame has not the key")
)

// Parse adds the records of whole frames.
func (p *parser) Parse(data []byte, to input.Batcher) (taken int, reply []byte, err error) {
	defer p.view.Reset()
	for {
		rest := data[taken:]
		if len(rest) < headLength {
			return p.unfinished(taken, rest, to, reply)
		}
		size, ok := length(binary.LittleEndian.Uint64(rest))
		switch {
		case !ok, size < minFrame:
			to.Refuse("wrong length")
			return taken, append(reply, checksum...), fmt.Errorf("%w: %q", errHead, rest[:headLength])
		case size > MaxFrame:
			to.Refuse("too long")
			return taken, append(reply, tooLong...), fmt.Errorf("a frame of %d bytes, at most %d may be", size, MaxFrame)
		case size > len(rest):
			return taken, reply, nil
		}
		service, word, message, ok := split(rest[headLength:size])
		if !p.admitted {
			given := sha256.Sum256(message)
			if !ok || subtle.ConstantTimeCompare(given[:], p.key[:]) != 1 {
				to.Refuse("wrong key")
				return taken, append(reply, denied...), errDenied
			}
			p.admitted = true
			taken += size
			reply = append(reply, accepted...)
			continue
		}
		taken += size
		if !ok {
			to.Refuse("no record")
			continue
		}
		p.add(service, word, message, to)
	}
}

// unfinished waits for the rest of a head, or returns an error if its beginning is invalid.
func (p *parser) unfinished(taken int, head []byte, to input.Batcher, reply []byte) (int, []byte, error) {
	for _, c := range head {
		if c < '0' || c > '9' {
			to.Refuse("wrong length")
			return taken, append(reply, checksum...), fmt.Errorf("%w: %q", errHead, head)
		}
	}
	return taken, reply, nil
}

func (p *parser) add(service, word, message []byte, to input.Batcher) {
	v := &p.view
	v.Reset() // the batcher may have changed it
	v.Service, v.Message = service, message
	if len(service) == 0 {
		v.Service = unnamed
		v.AddText(fromKey, nil)
	}
	switch string(word) {
	case "info":
		v.Level = slog.LevelInfo
	case "debug":
		v.Level = slog.LevelDebug
	case "warn":
		v.Level = slog.LevelWarn
	case "error":
		v.Level = slog.LevelError
	case "fatal":
		v.Level = severity.Fatal
	default:
		v.Level, _ = severity.Level(word) // an unknown word is info
		v.AddText(severityKey, word)
	}
	to.Add(v)
}

var (
	severityKey = []byte("severity")
	fromKey     = []byte("from_service") // the attribute with the original name of the service
	unnamed     = []byte(Service)
)

// End counts an incomplete frame at the end of a connection.
func (p *parser) End(data []byte, to input.Batcher) {
	if len(data) > 0 {
		to.Refuse("half a frame")
	}
}

// State returns whether the client has sent the key.
func (p *parser) State() []byte {
	if p.admitted {
		return []byte{1}
	}
	return nil
}

// length returns the length in the eight digits of a head; ok is false unless they are the same number twice.
func length(head uint64) (size int, ok bool) {
	const zeros = 0x3030303030303030
	digits := head ^ zeros // a digit becomes its value
	if (digits|(digits+0x0606060606060606))&^0x0f0f0f0f0f0f0f0f != 0 || uint32(head) != uint32(head>>32) {
		return 0, false
	}
	d := uint32(digits)
	return int(d&0xf)*1000 + int(d>>8&0xf)*100 + int(d>>16&0xf)*10 + int(d>>24), true
}

// split splits :service:severity:message. Service and severity are short: a loop over their bytes is faster than a call.
func split(frame []byte) (service, word, message []byte, ok bool) {
	if frame[0] != ':' {
		return nil, nil, nil, false
	}
	first := 1
	for first < len(frame) && frame[first] != ':' {
		first++
	}
	second := first + 1
	for second < len(frame) && frame[second] != ':' {
		second++
	}
	if second >= len(frame) {
		return nil, nil, nil, false
	}
	return frame[1:first], frame[first+1 : second], frame[second+1:], true
}
