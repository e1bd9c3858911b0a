package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/meanwhile-go/meanwhile"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

const (
	answerLimit = 20 * time.Second // for the server to answer invalid input, or to close
	mostMemory  = 400 << 20        // bytes, with all hostile clients at once
	slowSenders = 50
)

// A hostile client sends invalid input. The server must answer, or close the connection.
type hostile struct {
	to     string // the name of a listener
	send   []byte
	answer string // the answer of the server, if it sends one; else it closes the connection
	ends   bool   // the client closes its side; only then does the server know that no more data comes
}

func hostiles() map[string]hostile {
	r := rand.New(rand.NewPCG(1, 2))
	garbage := make([]byte, 64<<10)
	for i := range garbage {
		garbage[i] = byte(r.Uint32())
	}
	clients := byte(0)
	greeting := func(key string) []byte { // with another client name each time: a second connection of the same client would end the first
		clients++
		identity := [16]byte{clients}
		return frame('H', append(append(identity[:], byte(len(key)), 0), key...))
	}
	own := func(frames ...[]byte) []byte { return append([]byte("mwlogs1\n"), bytes.Join(frames, nil)...) }
	return map[string]hostile{
		"Analogger, garbage":         {to: "analogger", send: garbage, answer: "error: checksum failed\n"},
		"Analogger, wrong key":       {to: "analogger", send: []byte("00300030::authentication:wrong"), answer: "denied\n"},
		"Analogger, two lengths":     {to: "analogger", send: []byte("00300031::authentication:right"), answer: "error: checksum failed\n"},
		"Analogger, giant":           {to: "analogger", send: []byte("99999999::authentication:"), answer: "error: max length exceeded\n"},
		"Analogger, below its head":  {to: "analogger", send: []byte("00030003"), answer: "error: checksum failed\n"},
		"Analogger, half a frame":    {to: "analogger", send: []byte("00300030::auth"), ends: true},
		"syslog, giant octet count":  {to: "syslog", send: []byte("<14>1 - - - - - - a\n999999999999 <14>1 - - -"), ends: true},
		"syslog, half an octet":      {to: "syslog", send: []byte("100 <14>1 - - -"), ends: true},
		"syslog, a line of 8 MB":     {to: "syslog", send: append([]byte("<14>"), bytes.Repeat([]byte("a"), 8<<20)...), ends: true},
		"syslog, garbage":            {to: "syslog", send: garbage, ends: true},
		"own protocol, garbage":      {to: "own", send: garbage},
		"own protocol, half a frame": {to: "own", send: own(greeting("right")[:12]), ends: true},
		"own protocol, wrong key":    {to: "own", send: own(greeting("wrong"))},
		"own protocol, giant":        {to: "own", send: own(greeting("right"), []byte{'D', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})},
		"own protocol, wrong sum":    {to: "own", send: own(greeting("right"), []byte{'P', 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})},
		"own protocol, bomb":         {to: "own", send: own(greeting("right"), frame('D', bomb()))},
	}
}

// frame returns a frame of the own protocol.
func frame(kind byte, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(b, table), table, body)
	return append(binary.LittleEndian.AppendUint32(b, sum), body...)
}

// bomb returns a batch that declares 1 KB of records, and decompresses to 256 MB of zeros.
func bomb() []byte {
	var packed bytes.Buffer
	w, _ := zstd.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range 256 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	b := []byte{1}
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 1<<10)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = append(append(b, 3, 0), "app"...)
	return append(b, packed.Bytes()...)
}

// TestHostileClients has clients send invalid input to the server, which is in a process of its own and has thousands of idle
// connections. Each client gets an answer or is closed, and well-behaved clients are not affected.
func TestHostileClients(t *testing.T) {
	const idle = 10_000
	if !allowFiles(idle + 1000) {
		t.Skipf("%d connections are not allowed here", idle)
	}
	s := startHostile(t)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		listeners := []string{"analogger", "syslog", "own"}
		for i := range idle {
			c, err := net.Dial("tcp", s.addresses[listeners[i%len(listeners)]])
			if err != nil {
				return fmt.Errorf("idle connection %d: %w", i, err)
			}
			defer c.Close()
		}
		for i := range slowSenders {
			meanwhile.Go(ctx, func(ctx context.Context) error { return slow(ctx, s.addresses[listeners[i%len(listeners)]]) }, meanwhile.InBackground())
		}
		for name, h := range hostiles() {
			meanwhile.Go(ctx, func(context.Context) error {
				if err := h.meet(s.addresses[h.to]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				return nil
			}, meanwhile.Name(name))
		}
		meanwhile.Go(ctx, func(ctx context.Context) error { return gzipBomb(ctx, s.addresses["http"]) }, meanwhile.Name("bomb over HTTP"))
		good := load.Load{Address: s.addresses["analogger"], Format: load.Analogger, Key: "right", Connections: 8, Messages: 40_000}
		if err := good.Send(ctx); err != nil {
			return fmt.Errorf("a well-behaved client: %w", err)
		}
		grown(t, s.file, good.Messages)
		if tally, err := good.Count(s.file); err != nil || !tally.Complete() {
			t.Errorf("of a well-behaved client: %v, %v", tally, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wanted := []string{
		"analogger: wrong key", "analogger: wrong length", "analogger: too long", "analogger: half a frame",
		"syslog-tcp: half a message", "syslog-tcp: no message",
		"listen: another protocol", "listen: wrong key", "listen: too long", "listen: wrong checksum", "listen: no frame", "listen: half a frame",
	}
	var counters map[string]int
	missing := func(name string) bool { return counters[name] == 0 }
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // a session may close its connection before it is counted
		counters = refused(t, s.addresses["http"])
		if !slices.ContainsFunc(wanted, missing) {
			break
		}
		if time.Since(begun) > answerLimit {
			t.Errorf("%q are not among the counters: %v", slices.DeleteFunc(wanted, func(name string) bool { return !missing(name) }), counters)
			break
		}
	}
	if u := s.process.usage(t); u.peak > mostMemory {
		t.Errorf("the server had %d MB at most, want no more than %d", u.peak>>20, mostMemory>>20)
	}
}

// refused returns the counters of refused input, by receiver and reason.
func refused(tb testing.TB, address string) map[string]int {
	tb.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	counters := map[string]int{}
	for _, m := range refusedLine.FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			tb.Fatal(err)
		}
		counters[string(m[1])+": "+string(m[2])] = int(n)
	}
	return counters
}

var refusedLine = regexp.MustCompile(`(?m)^meanwhile_logs_refused_total\{input="([^"]*)",reason="([^"]*)"\} (\S+)$`)

// A hostileServer is our server with all its receivers open, on this machine.
type hostileServer struct {
	process   *process
	addresses map[string]string
	file      string // with all records
}

func startHostile(tb testing.TB) *hostileServer {
	tb.Helper()
	program, err := buildMeanwhile()
	if err != nil {
		tb.Fatal(err)
	}
	folder := tb.TempDir()
	s := &hostileServer{addresses: map[string]string{}, file: filepath.Join(folder, outcome)}
	for _, name := range []string{"own", "analogger", "syslog", "http"} {
		s.addresses[name] = at(freePort(tb))
	}
	cmd := exec.Command(program, "logs", "serve", "--listen", s.addresses["own"], "--analogger", s.addresses["analogger"],
		"--syslog-tcp", s.addresses["syslog"], "--http", s.addresses["http"], "--dir", filepath.Join(folder, "store"),
		"--to", "file:"+filepath.Join(folder, "{service}.log"), "--key", "right")
	cmd.Dir = folder
	s.process = start(tb, s.addresses["analogger"], cmd)
	return s
}

// meet sends the invalid input and waits for the answer, or for the end of the connection.
func (h hostile) meet(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(answerLimit))
	_, _ = c.Write(h.send) // the server may close before it has read all
	if h.ends {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	said, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("neither answered nor closed: %.100q", said)
	}
	// A connection reset may overtake the answer.
	if h.answer != "" && string(said) != h.answer && !(errors.Is(err, syscall.ECONNRESET) && strings.HasPrefix(h.answer, string(said))) {
		return fmt.Errorf("answers %.100q, want %q", said, h.answer)
	}
	return nil
}

// slow sends one byte every 50 ms of a header that never ends.
func slow(ctx context.Context, address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := 0; ; i++ {
		if err := meanwhile.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if _, err := c.Write([]byte{"00300030::authentication:right"[i%25]}); err != nil {
			return nil // closed, which is also correct
		}
	}
}

// gzipBomb posts a body that is a thousand times as large when it is decompressed.
func gzipBomb(ctx context.Context, address string) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	line := []byte(`{"message":"` + strings.Repeat("a", 1<<20) + `"`)
	for range 256 {
		_, _ = w.Write(line)
	}
	_ = w.Close()
	for _, path := range []string{"/v1/logs", "/logs"} {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(packed.Bytes()))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Encoding", "gzip")
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("a bomb at %s is not answered: %w", path, err)
			}
			continue // the server closed the connection
		}
		_ = response.Body.Close()
		if response.StatusCode < 400 {
			return fmt.Errorf("a bomb at %s is answered %s", path, response.Status)
		}
	}
	return nil
}

// allowFiles raises the limit of open files of this process and those it starts.
func allowFiles(n uint64) bool {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return false
	}
	if limit.Cur >= n {
		return true
	}
	limit.Cur, limit.Max = n, max(limit.Max, n)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) == nil
}
