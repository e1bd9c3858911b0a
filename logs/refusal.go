package logs

import "fmt"

// A RefusalCode is the reason for which a server closes a connection.
type RefusalCode byte

// The reasons; docs/logs-protocol.md describes how a client reacts to each.
const (
	RefusedVersion     RefusalCode = iota + 1 // another protocol, or a version that the server does not speak
	RefusedKey                                // the key is wrong or missing
	RefusedFrame                              // a frame breaks the protocol
	RefusedSuperseded                         // the same client has opened another connection
	RefusedUnavailable                        // the records cannot be kept at present
	RefusedLeaving                            // the server stops, or asks for a new connection
)

// String returns a word for the reason.
func (c RefusalCode) String() string {
	words := [...]string{"", "version", "key", "frame", "superseded", "unavailable", "leaving"}
	if int(c) >= len(words) || c == 0 {
		return fmt.Sprintf("reason %d", byte(c))
	}
	return words[c]
}

// A Refusal is the reason that a server sends to its client before it closes the connection. It is an error on both sides.
type Refusal struct {
	Code RefusalCode
	Text string
}

// Error returns the reason and the text, with "refused" before them.
func (r *Refusal) Error() string { return fmt.Sprintf("refused (%s): %q", r.Code, r.Text) }
