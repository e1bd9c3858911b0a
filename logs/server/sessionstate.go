package server

import (
	"encoding/binary"
	"errors"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

var errHandoverState = errors.New("a handed state is damaged")

// state returns what the next process needs to continue the session: the client, its last number here, and the bytes that were read and
// not decoded.
func (c *session) state() []byte {
	if !c.greeted {
		b := []byte{0}
		if c.begun {
			b = append(b, logwire.Magic...)
		}
		return append(b, c.in.Rest()...)
	}
	b := append([]byte{1}, c.client[:]...)
	b = binary.LittleEndian.AppendUint64(b, c.last)
	return append(b, c.in.Rest()...)
}

func (c *session) restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	rest := state[1:]
	if state[0] == 1 {
		if len(rest) < 24 {
			return errHandoverState
		}
		c.greeted = true
		rest = rest[copy(c.client[:], rest):]
		c.last = binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
	}
	if c.in.Restore(rest) != nil {
		return errHandoverState
	}
	return nil
}
