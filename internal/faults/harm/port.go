package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Whoever asks the system for any port gets one above these, on Linux from 32768 on, elsewhere from 49152 on.
const firstPort, ports = 20_000, 10_000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a port of this machine on which nobody listens, another one each time. A server may listen there later, and
// again after it has ended: the system gives it to nobody else meanwhile, and on Linux neither does FreePort in another process while this one lives.
func FreePort() (int, error) {
	for range ports {
		port := int(firstPort + nextPort.Add(1)%ports)
		if !reserve(port) {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("there is no free port")
}

// reserved are sockets without a file, one for each port of this process, which end with it.
var reserved struct {
	sync.Mutex
	sockets []net.Listener
}

func reserve(port int) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	l, err := net.Listen("unix", fmt.Sprintf("@meanwhile-test-port-%d", port))
	if err != nil {
		return false
	}
	reserved.Lock()
	defer reserved.Unlock()
	reserved.sockets = append(reserved.sockets, l)
	return true
}
