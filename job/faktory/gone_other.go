//go:build !unix

package faktory

import "net"

// gone reports false: only the next write or read shows whether the other side has closed a connection.
func gone(net.Conn) bool { return false }
