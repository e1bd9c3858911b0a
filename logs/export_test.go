package logs

import (
	"context"
	"net"
)

// ConnectTimeout is how long a sender waits for a connection.
const ConnectTimeout = connectTimeout

// WithDial returns options of a sender that connects by dial.
func WithDial(dial func(context.Context) (net.Conn, error), o SenderOptions) *SenderOptions {
	o.dial = dial
	return &o
}
