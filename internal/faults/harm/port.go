package harm

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Whoever asks the system for any port gets one above these, on Linux from 32768 on, elsewhere from 49152 on.
const firstPort, ports = 20_000, 10_000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a port of this machine on which nobody listens, another one each time. A server may listen there later, and
// again after it has ended: the system gives it to nobody else meanwhile.
func FreePort() (int, error) {
	for range ports {
		port := int(firstPort + nextPort.Add(1)%ports)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("there is no free port")
}
