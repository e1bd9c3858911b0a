package fetch

import (
	"crypto/tls"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		trace := c.trace()
		wait := func(d time.Duration) { time.Sleep(d) }
		for range 2 { // a redirect
			trace.GetConn("")
			trace.DNSStart(httptrace.DNSStartInfo{})
			wait(1 * time.Second)
			trace.DNSDone(httptrace.DNSDoneInfo{})
			trace.ConnectStart("", "6")
			wait(1 * time.Second)
			trace.ConnectStart("", "4") // a second, concurrent dial
			wait(1 * time.Second)
			trace.TLSHandshakeStart()
			wait(4 * time.Second)
			trace.TLSHandshakeDone(tls.ConnectionState{}, nil)
			trace.GotConn(httptrace.GotConnInfo{})
			trace.TLSHandshakeStart() // of a dial that is no longer needed
			wait(8 * time.Second)
			trace.GotFirstResponseByte()
			wait(16 * time.Second)
		}
		got := c.stop()
		want := phases{lookup: 2 * time.Second, connect: 4 * time.Second, handshake: 8 * time.Second, waiting: 16 * time.Second, receiving: 32 * time.Second}
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
