//go:build unix

package faktory

import (
	"net"
	"syscall"
)

// gone reports whether the other side has closed a connection, or has sent data that was not read yet, as far as that is known by now. It consumes no data
// and does not wait.
func gone(socket net.Conn) (closed, sent bool) {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false, false
	}
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		sent = n > 0
		closed = n == 0 && err == nil || err == syscall.ECONNRESET
		return true
	})
	return closed && err == nil, sent && err == nil
}
