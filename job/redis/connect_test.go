package redis_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job/redis"
)

// silentServer accepts connections and answers nothing. It returns its address, and a channel that gets a value for each
// connection.
func silentServer(t *testing.T) (address string, accepted chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = make(chan struct{}, 100)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			accepted <- struct{}{}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		conns.Wait()
	})
	return listener.Addr().String(), accepted
}

// TestCallsShareAConnectionThatIsBeingMade: if a server does not answer, calls share one attempt to connect, and none waits for
// the attempts of others in turn.
func TestCallsShareAConnectionThatIsBeingMade(t *testing.T) {
	address, accepted := silentServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-accepted
		cancel()
	}()
	s, err := redis.Open(ctx, "redis://"+address)
	if err != nil {
		t.Fatal(err)
	}
	const calls = 20
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if s.Ping(ctx) == nil {
				t.Error("a ping of a silent server returned no error")
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := 1 + len(accepted); n > calls/4 { // one, unless the attempt times out during the test, after 5 s
		t.Errorf("%d calls made %d connections, want one that they share", calls, n)
	}
}

// TestConnectToAnotherServer: a server that closes the connection without an answer may be no Redis, or one that wants TLS.
func TestConnectToAnotherServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_ = c.Close()
		}
	}()
	s, err := redis.Open(t.Context(), "redis://"+listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const want = "what listens there closed the connection without a response: it is no Redis, or one with TLS, for which the URL begins with rediss:"
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
