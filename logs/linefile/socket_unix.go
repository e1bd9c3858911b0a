//go:build unix

package linefile

import (
	"net"
	"syscall"
)

// hungUp reports whether the peer has closed a connection. The peer is not expected to send anything.
func hungUp(conn net.Conn) (gone bool) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool {
		var buf [512]byte
		for {
			n, err := syscall.Read(int(fd), buf[:])
			if err == syscall.EINTR || n > 0 {
				continue
			}
			gone = err != syscall.EAGAIN
			return true
		}
	})
	return gone || err != nil
}
