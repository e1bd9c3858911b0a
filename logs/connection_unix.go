//go:build unix

package logs

import (
	"io"
	"net"
	"syscall"
)

// prepare has plain connections read without holding a buffer while nothing comes.
func (c *connection) prepare() {
	plain, ok := c.conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return
	}
	c.raw = raw
	c.tryRead = func(fd uintptr) bool {
		c.get()
		for {
			n, err := syscall.Read(int(fd), (*c.buf)[len(c.rest):])
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN:
				c.put()
				return false
			case err != nil:
				c.readErr = err
			case n == 0:
				c.readErr = io.EOF
			default:
				c.filled = len(c.rest) + n
			}
			return true
		}
	}
}

// hungUp reports whether the other side has closed a connection from which nothing is expected.
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
		var room [512]byte
		for {
			n, err := syscall.Read(int(fd), room[:])
			if err == syscall.EINTR || n > 0 {
				continue
			}
			gone = err != syscall.EAGAIN
			return true
		}
	})
	return gone || err != nil
}
