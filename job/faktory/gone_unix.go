//go:build unix

package faktory

import (
	"net"
	"syscall"
)

// gone reports whether the other side has closed a connection, as far as that is known by now. It consumes no data and does not wait.
func gone(socket net.Conn) bool {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		closed = n == 0 && err == nil || err == syscall.ECONNRESET
		return true
	})
	return closed && err == nil
}
