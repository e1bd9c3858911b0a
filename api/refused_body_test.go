package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestARefusalReachesAClientThatSendsAllFirst: clients read no answer before they have sent their body, like those of Python's standard library.
func TestARefusalReachesAClientThatSendsAllFirst(t *testing.T) {
	line := `{"kind":"k"}` + "\n"
	for name, test := range map[string]struct {
		path, body string
		chunked    bool
		status     int
	}{
		"too long":          {"/jobs", strings.Repeat(" ", 3<<20), false, http.StatusRequestEntityTooLarge},
		"too long, chunked": {"/jobs", strings.Repeat(" ", 3<<20), true, http.StatusRequestEntityTooLarge},
		"a wrong line":      {"/jobs/bulk", line + "nonsense\n" + strings.Repeat(line, 100_000), false, http.StatusBadRequest},
		"no such path":      {"/nothing", strings.Repeat(" ", 3<<20), false, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := serve(t)
				kind := "application/json"
				if strings.HasSuffix(test.path, "bulk") {
					kind = "application/x-ndjson"
				}
				head := fmt.Sprintf("POST %s%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n", api.Prefix, test.path, kind)
				body := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(test.body), test.body)
				if test.chunked {
					body = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(test.body), test.body)
				}
				if _, err := io.WriteString(conn, head+body); err != nil {
					t.Fatalf("the server stopped reading: %v", err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != test.status {
					t.Errorf("the answer is %v, %v; want %d", answer, err, test.status)
				}
			})
		})
	}
}

// TestARefusalDoesNotWaitForABody: a refused client that sends no more is answered, and so is one that waits for permission to send.
func TestARefusalDoesNotWaitForABody(t *testing.T) {
	for name, head := range map[string]string{"stalled": "", "expects 100": "Expect: 100-continue\r\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, begun := serve(t), time.Now()
				_, err := io.WriteString(conn, "POST "+api.Prefix+"/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n"+head+"\r\n")
				if err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
					t.Fatalf("the answer is %v, %v; want 413", answer, err)
				}
				if took := time.Since(begun); took > 5*time.Second || head != "" && took > 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// serve returns a connection without buffers to a new server.
func serve(t *testing.T) net.Conn {
	t.Helper()
	store := memory.New()
	server := &http.Server{Handler: api.New(api.Config{Store: store})}
	ours, theirs := net.Pipe()
	listener := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conn <- theirs
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	_ = ours.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() {
		_ = ours.Close()
		_ = server.Close()
		<-ended
		time.Sleep(time.Second) // the last connection is over
		_ = store.Close()
	})
	return ours
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
