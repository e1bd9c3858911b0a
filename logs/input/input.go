// Package input defines the contract of inputs: how the parser of a protocol receives the bytes of a connection, and where it adds the
// records. Packages logs/syslog, logs/analogger, logs/jsonlines, logs/otlp and logs/loki are inputs. The server of package logs/server reads
// their connections, and enforces buffer sizes and timeouts.
//
// It imports package logs.
package input

import (
	"context"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A Batcher receives the records of one connection, and exists as long as the connection. It is used by one task at a time.
type Batcher interface {
	// Add adds a record. It sets the time if that is zero, truncates the message of a record that is too long, and counts and drops records
	// beyond the rate limit of their service. If the service has no valid name, the record is counted, and stored under the name that
	// [logs.RepairService] returns. Add copies what it keeps, and may change the view. The caller may reuse the view afterwards.
	Add(v *logs.View)

	// Flush passes the added records on. An input calls it when it has parsed all data of one read. It waits while the buffers of the
	// outputs are full (backpressure), which blocks only this connection.
	Flush(ctx context.Context) error

	// Sync is Flush, and waits until the records are on disk. An input that acknowledges records does so after Sync.
	Sync(ctx context.Context) error

	// Refuse counts input that is not a record, under a short reason that contains no text from the input.
	Refuse(reason string)
}

// A Protocol is an input over connections or datagrams. The server reads the connections, and enforces buffer sizes and timeouts; a Protocol
// only parses their data.
type Protocol interface {
	// Parser returns the parser for one connection, which the peer has opened from origin, an address. For a connection that another
	// process has handed over, state is what [Parser.State] returned there, and the new parser continues from it; for a new connection it is
	// nil. A parser of datagrams receives those of one host, from any port: each is passed to Parse and, if that leaves some bytes, to End.
	Parser(origin string, state []byte) Parser
}

// A Parser parses the bytes of one connection. It is used by one task at a time, and keeps no reference to data.
type Parser interface {
	// Parse adds the records at the beginning of data to a batcher, and returns the number of parsed bytes. The bytes that it leaves, the
	// beginning of a frame, are passed again together with the following ones. The server closes a connection whose frame does not fit into
	// its buffer. The reply is sent to the client. An error closes the connection after the reply; its text is logged, and must quote
	// input only in escaped form.
	Parse(data []byte, to Batcher) (taken int, reply []byte, err error)

	// End is called with the remaining data when the peer has closed the connection, or with the bytes of a datagram that Parse has left.
	End(data []byte, to Batcher)

	// State returns the state of the parser beyond the bytes that it has parsed, for [Protocol.Parser] in another process.
	State() []byte
}

// A Waiter is a Parser that may leave a complete message in data until it has seen the bytes after it. The server calls Quiet if none
// arrive.
type Waiter interface {
	Parser

	// Waits reports whether the last Parse has left a complete message.
	Waits() bool

	// Quiet is called when nothing has arrived for a while. The next Parse is called with the same data, and parses the message.
	Quiet()
}
