package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
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
		if reserve(port) && !listens(port) {
			return port, nil
		}
	}
	return 0, errors.New("there is no free port")
}

// listens reports whether somebody listens on a port. It asks by connecting: had it listened itself, a process that is started just then
// would have a copy of its socket, and keep the port until it runs its own program.
func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 5*time.Second)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return errors.Is(err, os.ErrDeadlineExceeded) // for somebody who listens and does not accept
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
