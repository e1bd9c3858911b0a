package nats_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/nats"
)

// stalls starts a server that calls answer for one client, and then neither reads nor writes any more. It returns the address of the server,
// and a channel that is closed when answer has returned.
func stalls(t *testing.T, answer func(client *bufio.Reader, conn net.Conn)) (address string, stalled chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stalled, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		answer(bufio.NewReader(conn), conn)
		close(stalled)
		<-t.Context().Done()
		_ = conn.Close()
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String(), stalled
}

// TestServerThatHangs: Send returns when its ctx ends, even if the server hangs while Send connects or publishes.
func TestServerThatHangs(t *testing.T) {
	hello := func(_ *bufio.Reader, conn net.Conn) {
		fmt.Fprint(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":8388608,\"headers\":true,\"jetstream\":true}\r\n")
	}
	for name, answer := range map[string]func(client *bufio.Reader, conn net.Conn){
		"at once":         func(*bufio.Reader, net.Conn) {},
		"after its hello": hello,
		"behind the question for the stream": func(client *bufio.Reader, conn net.Conn) {
			hello(client, conn)
			for {
				line, err := client.ReadString('\n')
				if err != nil {
					return
				}
				switch words := strings.Fields(line); {
				case words[0] == "PING":
					fmt.Fprint(conn, "PONG\r\n")
				case words[0] == "PUB" && strings.HasPrefix(words[1], "$JS.API.STREAM.INFO."):
					const info = `{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":"s"},"state":{}}`
					fmt.Fprintf(conn, "MSG %s 1 %d\r\n%s\r\n", words[2], len(info), info)
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, stalled := stalls(t, answer)
			output, err := nats.New(nats.Config{URL: "nats://" + address, Stream: "s"})
			if err != nil {
				t.Fatal(err)
			}
			var records []logs.Record
			for n := range uint64(100) { // more than the buffers of a connection hold
				records = append(records, logs.Record{Service: "api", Number: n + 1, Message: strings.Repeat("x", 1<<18)})
			}
			stop := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { <-stalled; cancel(stop) })
			began := time.Now()
			if err := output.Send(ctx, records); !errors.Is(err, stop) {
				t.Errorf("got %v, want the cause of ctx", err)
			}
			if err := output.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("Send and Close took %v, want at most 6 s", took)
			}
		})
	}
}
