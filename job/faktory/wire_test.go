package faktory_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func (p *peer) send(text string) {
	p.Helper()
	if _, err := io.WriteString(p.socket, text); err != nil {
		p.Fatal(err)
	}
}

func (p *peer) wantNext(want string) {
	p.Helper()
	if got, err := p.read(); err != nil || !strings.HasPrefix(got, want) {
		p.Fatalf("got %.200q, %v, want %q", got, err, want)
	}
}

// TestFraming: lines end in LF or CRLF, arrive in single bytes or many in one segment, with long ones in between.
func TestFraming(t *testing.T) {
	r := newRig(t, faktory.Config{})
	p, err := connect(r, r.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []byte("HELLO {\"v\":2,\"wid\":\"\",\"username\":\"x\",\"pid\":\"12\"}\n") {
		p.send(string(c))
	}
	p.wantNext("+OK")
	long := `PUSH {"jid":"job-long01","jobtype":"a","args":["` + strings.Repeat("x", 200_000) + `"]}`
	p.send("PUSH {\"jid\":\"job-000001\",\"jobtype\":\"a\",\"args\":[]}\n" + long + "\r\nPUSH {\"jid\":\"job-000002\",\"jobtype\":\"a\",\"args\":[\"\\r\\n\"]}\r\nFETCH default\nFETCH default\nFETCH default\nACK {\"jid\":\"job-long01\"}\nEND\r\n")
	for _, want := range []string{"+OK", "+OK", "+OK", `{"jid":"job-000001"`, `{"jid":"job-long01"`, `{"jid":"job-000002"`, "+OK"} {
		p.wantNext(want)
	}
	p.closed()
	if j := r.one("job-long01"); j.State != job.Completed || len(j.Args) != 200_004 {
		t.Errorf("it is %s with %d bytes of args", j.State, len(j.Args))
	}
}

// TestALongLineEndsItsConnectionAlone: a line that is too long is refused before it was read to its end, and other connections continue.
func TestALongLineEndsItsConnectionAlone(t *testing.T) {
	r := newRig(t, faktory.Config{})
	other := r.worker("w")
	p := r.dial("")
	go func() {
		_, _ = io.Copy(p.socket, io.LimitReader(zeros{}, faktory.MaxLine+4096))
	}()
	p.wantNext("-ERR a command has more than 16 MiB")
	other.want(`BEAT {"wid":"w"}`, "+OK")
	q, err := connect(r, r.address)
	if err != nil {
		t.Fatal(err)
	}
	q.send("HELLO {" + strings.Repeat("x", 9000) + "}\n")
	q.wantNext("-ERR HELLO has more than 8192 bytes")
	other.want(`BEAT {"wid":"w"}`, "+OK")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestHelloRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, faktory.Config{})
	var refused []*peer // the server closes each of them some time after its answer
	for hello, want := range map[string]string{
		`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`: "-ERR the first command has to be HELLO",
		`HELLO x`:                 "-ERR HELLO: ",
		`HELLO {"wid":7}`:         "-ERR HELLO: wid is of type number: give one of type string: give a JSON object such as",
		`HELLO {"wid":"a\u0007"}`: "-ERR HELLO: the wid has to have",
		`HELLO {"wid":"` + strings.Repeat("x", 121) + `"}`:               "-ERR HELLO: the wid has to have at most 120 bytes",
		`HELLO {"wid":"a","labels":["` + strings.Repeat("x", 61) + `"]}`: "-ERR HELLO: a label has to have at most 60 bytes",
	} {
		p, err := connect(r, r.address)
		if err != nil {
			t.Fatal(err)
		}
		p.want(hello, want)
		refused = append(refused, p)
	}
	for _, p := range refused {
		p.closed()
	}
	if list, _ := r.store.List(context.Background(), job.Filter{Limit: 1}); len(list) > 0 {
		t.Error("a command was executed before the handshake")
	}
}

func TestPasswordAndTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	r := newRig(t, faktory.Config{Password: "correct horse", TLS: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	socket, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: roots, ServerName: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	p := &peer{TB: t, socket: socket, reader: bufio.NewReader(socket)}
	if p.hi, err = p.read(); err != nil {
		t.Fatal(err)
	}
	p.want(`HELLO {"v":2,"pwdhash":"`+strings.ToUpper(hash(t, p.hi, "correct horse"))+`"}`, "+OK")
	p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
	plain, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = io.WriteString(plain, "HELLO {\"v\":2}\r\n")
	_ = plain.SetReadDeadline(time.Now().Add(patience))
	if text, _ := io.ReadAll(plain); bytes.Contains(text, []byte("HI")) {
		t.Errorf("a client without TLS got %q", text)
	}
}

func TestShortPassword(t *testing.T) {
	if _, err := faktory.New(faktory.Config{Store: memory.New(), Password: "short"}); err == nil || !strings.Contains(err.Error(), "at least 8") {
		t.Errorf("got %v", err)
	}
}

// TestIdleConnectionsAreSmall opens idle connections. Both ends together must use less memory than the promised amount for one end.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const most = 200 << 20
	connections := testenv.Rounds(2000, 10_000)
	if n := openFiles(); n < uint64(2*connections+500) {
		connections = int(n-500) / 2
	}
	if testing.Short() || connections < 1000 {
		t.Skipf("%d connections can be opened, or -short was given", connections)
	}
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	r := newRig(t, faktory.Config{})
	before := memory()
	sockets := make([]net.Conn, connections)
	text := make([]byte, 64)
	for i := range sockets {
		socket, err := net.Dial("tcp", r.address)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		sockets[i] = socket
		if _, err := socket.Read(text); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(socket, "HELLO {\"v\":2}\r\n")
		if _, err := socket.Read(text); err != nil {
			t.Fatal(err)
		}
	}
	used := memory() - before
	t.Logf("%d connections, both ends: %d MiB, %d bytes each", connections, used>>20, used/uint64(connections))
	if used*10_000/uint64(connections) > most {
		t.Errorf("%d idle connections use %d MiB", connections, used>>20)
	}
	runtime.KeepAlive(sockets)
}

func TestInfoQueueMutateFlush(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		p := r.worker("w")
		later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
		p.want(`PUSHB [{"jid":"job-now001","jobtype":"a","args":[1]},{"jid":"job-later1","jobtype":"b","args":["find me"],"at":"`+later+`"},`+
			`{"jid":"job-later2","jobtype":"c","args":[],"at":"`+later+`"},{"jid":"3f2c1b9e-7a55-4c1d-9e2a-0123456789ab","jobtype":"a","args":[],"queue":"r"},{"jid":"job-dead01","jobtype":"a","args":[],"queue":"d","retry":-1}]`, "{}")
		p.fetchOne("r")
		p.want(`FAIL {"jid":"3f2c1b9e-7a55-4c1d-9e2a-0123456789ab"}`, "+OK")
		p.fetchOne("d")
		p.want(`FAIL {"jid":"job-dead01"}`, "+OK")
		sets := func() string {
			text, _ := json.Marshal(p.object("INFO")["faktory"].(map[string]any)["sets"])
			return string(text)
		}
		if got := sets(); got != `{"dead":1,"retries":1,"scheduled":2,"working":0}` {
			t.Errorf("sets %s", got)
		}
		if queues, _ := json.Marshal(p.object("INFO")["faktory"].(map[string]any)["queues"]); string(queues) != `{"default":1,"r":0}` {
			t.Errorf("queues %s", queues)
		}
		if got := p.object("QUEUE LATENCY default nowhere"); got["default"].(float64) <= 0 || got["nowhere"] != 0.0 {
			t.Errorf("latency %v", got)
		}
		p.want("QUEUE PAUSE default", "+OK")
		if got := p.fetch("default"); got != nil {
			t.Errorf("fetched %+v from a paused queue", got)
		}
		if err := r.store.Pause(context.Background(), "mails/eu", true); err != nil { // a name that clients cannot send
			t.Fatal(err)
		}
		p.want("QUEUE RESUME *", "+OK")
		if queues, err := r.store.Queues(context.Background()); err != nil || slices.ContainsFunc(queues, func(q job.QueueInfo) bool { return q.Paused }) {
			t.Errorf("after QUEUE RESUME * the queues are %+v, %v", queues, err)
		}
		p.want("QUEUE REMOVE default", "+OK")
		if len(r.byJID("job-now001")) != 0 || len(r.byJID("job-later1")) != 1 {
			t.Error("after QUEUE REMOVE, want the due job deleted and the scheduled one kept")
		}
		p.want(`MUTATE {"cmd":"kill","target":"scheduled","filter":{"regexp":"*find ?e*"}}`, "+OK")
		if got := sets(); got != `{"dead":2,"retries":1,"scheduled":1,"working":0}` {
			t.Errorf("after MUTATE kill with a pattern: %s", got)
		}
		p.want(`MUTATE {"cmd":"requeue","target":"retries","filter":{"jids":["3f2c1b9e-7a55-4c1d-9e2a-0123456789ab","job-later2"]}}`, "+OK")
		if got := p.fetchOne("r"); got.JID != "3f2c1b9e-7a55-4c1d-9e2a-0123456789ab" {
			t.Errorf("fetched %+v", got)
		}
		p.want(`ACK {"jid":"3f2c1b9e-7a55-4c1d-9e2a-0123456789ab"}`, "+OK")
		p.want(`MUTATE {"cmd":"discard","target":"dead","filter":{"jobtype":"b"}}`, "+OK")
		p.want(`MUTATE {"cmd":"clear","target":"scheduled"}`, "+OK")
		if got := sets(); got != `{"dead":1,"retries":0,"scheduled":0,"working":0}` {
			t.Errorf("after discard and clear: %s", got)
		}
		p.want("FLUSH", "+OK")
		if list, err := r.store.List(context.Background(), job.Filter{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("%d jobs are left, %v", len(list), err)
		}
	})
}

// FuzzCommands checks that each command, whatever it is, gets an answer in RESP or ends the connection.
func FuzzCommands(f *testing.F) {
	for _, seed := range []string{
		"PUSH {\"jid\":\"job-000001\",\"jobtype\":\"a\",\"args\":[1]}\nACK {\"jid\":\"job-000001\"}\n", "PUSHB [{}]\r\n", "FAIL {\"jid\":\"x\",\"backtrace\":null}\n",
		"MUTATE {\"cmd\":\"kill\",\"target\":\"dead\",\"filter\":{\"regexp\":\"*a?*\"}}\n", "QUEUE PAUSE *\nQUEUE LATENCY a b\n", "BEAT {\"wid\":\"w\",\"current_state\":\"quiet\"}\n",
		"TRACK GET \nTRACK SET {\"percent\":-1}\n", "INFO\nFLUSH\nBATCH\nEND\n", "\n\r\n \x00\n", "PUSH {\"jid\":\"job-000001\",\"jobtype\":\"a\",\"args\":[],\"custom\":{\"unique_for\":1e99},\"priority\":\"x\",\"reserve_for\":1e308,\"retry\":-9}\n",
	} {
		f.Add([]byte(seed))
	}
	store := memory.New()
	server, err := faktory.New(faktory.Config{Store: store, Flush: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	pipes := newPipes()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx, pipes)
	}()
	f.Cleanup(func() {
		cancel()
		<-ended
	})
	f.Fuzz(func(t *testing.T, commands []byte) {
		if bytes.Contains(commands, []byte("FETCH")) { // FETCH waits
			return
		}
		ours, theirs := net.Pipe()
		pipes.conns <- theirs
		defer ours.Close()
		p := &peer{TB: t, socket: ours, reader: bufio.NewReader(ours)}
		p.wantNext("+HI")
		p.want(`HELLO {"v":2,"wid":"w"}`, "+OK")
		go func() { _, _ = ours.Write(append(commands, "\nINFO x\nEND\n"...)) }()
		for {
			got, err := p.read()
			if err == io.EOF {
				return
			}
			if err != nil || got == "" || !strings.ContainsAny(got[:1], "+-{") {
				t.Fatalf("%q: got %q, %v", commands, got, err)
			}
		}
	})
}
