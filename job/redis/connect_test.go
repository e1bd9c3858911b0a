package redis_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job/redis"
)

// silentServer accepts connections and answers nothing. It returns its address, and where it tells of each connection.
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

// TestCallsShareAConnectionThatIsBeingMade: with a server that does not answer, no call waits for the attempts of others, in line.
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
				t.Error("a server that says nothing answers a ping")
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := 1 + len(accepted); n > calls/4 { // one, unless it is given up meanwhile, after 5 s
		t.Errorf("%d calls made %d connections, want one that they share", calls, n)
	}
}
