package logs

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

// bareVariable makes the test binary run the bare server, see serveBare.
const bareVariable = "MEANWHILE_BENCH_LOGS_BARE"

// bare is the upper limit: a goroutine for each connection reads, splits the data at the frames of Analogger, and writes lines.
// It validates nothing, keeps no order between connections, does not sync, and writes one timestamp for each read.
var bare = server{
	lib: "bare", formats: []load.Format{load.Analogger}, find: os.Executable,
	start: func(tb testing.TB, program, folder string, _ load.Format, port int) *process {
		tb.Helper()
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), bareVariable+"="+at(port)+" "+filepath.Join(folder, outcome))
		return start(tb, at(port), cmd)
	},
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(bareVariable); spec != "" {
		fmt.Fprintln(os.Stderr, serveBare(spec))
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

func serveBare(spec string) error {
	var address, name string
	if _, err := fmt.Sscan(spec, &address, &name); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			serveBareOn(c.(*net.TCPConn), file, &mu)
		}()
	}
}

func serveBareOn(c *net.TCPConn, file *os.File, mu *sync.Mutex) {
	in, held := make([]byte, 256<<10), 0
	var lines []byte
	for first := true; ; {
		n, err := c.Read(in[held:])
		if err != nil {
			return
		}
		data := in[:held+n]
		lines = lines[:0]
		stamp := time.Now().AppendFormat(nil, "2006/01/02 15:04:05|")
		for len(data) >= 8 {
			size := 0
			for _, d := range data[:4] {
				size = 10*size + int(d-'0')
			}
			if len(data) < size {
				break
			}
			if first {
				first = false
				_, _ = c.Write([]byte("accepted\n"))
			} else {
				lines = append(lines, stamp...)
				at := len(lines)
				lines = append(append(lines, data[9:size]...), '\n')
				for i, colons := at, 0; colons < 2; i++ {
					if lines[i] == ':' {
						lines[i] = '|'
						colons++
					}
				}
			}
			data = data[size:]
		}
		held = copy(in, data)
		mu.Lock()
		_, err = file.Write(lines)
		mu.Unlock()
		if err != nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			return
		}
	}
}
