//go:build unix

package harm

import (
	"net"
	"strconv"
	"testing"
)

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 20 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if seen[port] {
			t.Errorf("port %d is given twice", port)
		}
		seen[port] = true
		nextPort.Add(ports - 1) // the same is next, on which somebody listens now
	}
}
