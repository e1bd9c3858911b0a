//go:build unix

package server

import (
	"io"
	"syscall"
)

// prepare makes reads of plain TCP connections wait without a buffer.
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
