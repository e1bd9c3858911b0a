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

// The ports that FreePort returns. The system assigns ephemeral ports above these: from 32768 on Linux, from 49152 elsewhere.
const firstPort, ports = 20_000, 10_000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a port of this machine on which nobody listens, a different one each time. A server may listen there later, and again after a
// restart: the system assigns the port to nobody else, and on Linux neither does FreePort in another process while this process lives.
func FreePort() (int, error) {
	for range ports {
		port := int(firstPort + nextPort.Add(1)%ports)
		if reserve(port) && !listens(port) {
			return port, nil
		}
	}
	return 0, errors.New("there is no free port")
}

// listens reports whether somebody listens on a port. It tries to connect. If it tried to listen, a process that is started at that moment would
// inherit its socket, and occupy the port until it executes its own program.
func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 5*time.Second)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return errors.Is(err, os.ErrDeadlineExceeded) // somebody listens and does not accept
}

// reserved are abstract Unix sockets, one for each port of this process. They disappear when the process ends.
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
