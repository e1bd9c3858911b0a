//go:build !unix

package faktory

import "net"

// gone reports neither: only the next write or read shows whether the other side has closed a connection.
func gone(net.Conn) (closed, sent bool) { return false, false }
