// Package input defines the contract of inputs: how the parser of a protocol gets the bytes of a connection, and where it puts the
// records. Packages logs/syslog, logs/analogger, logs/jsonlines, logs/otlp and logs/loki are inputs; the server of package
// logs/server reads, bounds and times their connections.
//
// It imports package logs.
package input

import (
	"context"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A Batcher takes the records of one connection, as long as the connection lasts. It is used by one task at a time.
type Batcher interface {
	// Add takes a record. It copies what it keeps of it, sets a time that is zero, cuts a message that is too long, stores and
	// counts a record whose service has no valid name under the one that [logs.RepairService] makes of it, and counts and drops
	// records beyond the rate limit of their service. The view may be changed afterwards.
	Add(v *logs.View)

	// Flush passes on what was added. An input calls it when it has taken all that one read brought. It waits while the receivers
	// of the records are full, which holds up this connection alone.
	Flush(ctx context.Context) error

	// Sync is Flush, and waits until all of it is on disk. An input that acknowledges records does so after Sync.
	Sync(ctx context.Context) error

	// Refuse counts input that was no record, under a short reason in words that do not come from the input.
	Refuse(reason string)
}

// A Protocol is an input over connections or datagrams: how one protocol brings records. The server reads, bounds and times the
// connections; a Protocol only parses what they bring.
type Protocol interface {
	// Parser returns the parser for one connection, which the peer opened from origin, an address. After a handover to another
	// program it continues where the parser was whose State is given; a new connection has no state. A parser of datagrams gets
	// those of one host, from any port, each through Parse and, if that leaves some of it, End.
	Parser(origin string, state []byte) Parser
}

// A Parser parses the bytes of one connection. It is used by one task at a time, and keeps no reference to data.
type Parser interface {
	// Parse adds the records at the beginning of data to a batcher, and returns how many bytes it took. What it leaves, the
	// beginning of a frame, is passed again with what follows. The server ends a connection whose frame does not fit into its
	// buffer. A reply is sent to the client. An error ends the connection after the reply; its text, which may quote the input
	// only escaped, is logged.
	Parse(data []byte, to Batcher) (taken int, reply []byte, err error)

	// End takes what is left in data when the peer has closed the connection; for a datagram, all that Parse has left.
	End(data []byte, to Batcher)

	// State returns what the parser knows beyond the bytes it took, for [Protocol.Parser] in another process.
	State() []byte
}

// A Waiter is a Parser that may leave a whole message in data until it knows what follows. The server calls Quiet if nothing
// does.
type Waiter interface {
	Parser

	// Waits reports whether the last Parse has left a whole message.
	Waits() bool

	// Quiet is called when nothing has arrived for a while. The next Parse, of the same data, takes the message.
	Quiet()
}
