package faktory_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// pipe connects, but reads nothing.
func (n *node) pipe() net.Conn {
	n.Helper()
	ours, theirs := net.Pipe()
	n.Cleanup(func() { _ = ours.Close() })
	n.pipes.conns <- theirs
	return ours
}

// TestSilentTLSConnectionsAreLimited: a connection that sends nothing in the TLS handshake counts toward the limit.
func TestSilentTLSConnectionsAreLimited(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	web.Close()
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{TLS: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}})
		n.server.LimitConnections(1)
		n.pipe()
		synctest.Wait()
		second := n.pipe()
		_ = second.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := second.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("reading from a connection beyond the limit: %v, want it closed", err)
		}
		time.Sleep(6 * time.Second) // the handshake of the first times out
		third := tls.Client(n.pipe(), &tls.Config{InsecureSkipVerify: true})
		p := &peer{TB: t, socket: third, reader: bufio.NewReader(third)}
		if hi, err := p.read(); err != nil || !strings.HasPrefix(hi, "+HI") {
			t.Errorf("afterwards a connection got %q, %v", hi, err)
		}
	})
}

// TestStrangersDoNotFillTheLog: a hundred connections fail in the TLS handshake, and a hundred with a wrong password.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	web.Close()
	secure := &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}
	for _, test := range []struct {
		message string
		config  faktory.Config
		connect func(n *node)
	}{
		{"a TLS handshake failed", faktory.Config{TLS: secure}, func(n *node) { _, _ = io.WriteString(n.pipe(), "HELLO {}\r\n") }},
		{"a TLS handshake failed", faktory.Config{TLS: secure}, func(n *node) { n.pipe() }}, // which is silent
		{"a client has a wrong password", faktory.Config{Password: "correct horse"}, func(n *node) { _, _ = io.WriteString(n.open().socket, "HELLO {}\r\n") }},
	} {
		inBubble(t, func(b *bubble) {
			var log bytes.Buffer
			test.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
			n := b.serve(test.config)
			connect := func(times int) string {
				log.Reset()
				for range times {
					test.connect(n)
				}
				time.Sleep(10 * time.Second) // the silent ones time out
				synctest.Wait()
				return log.String()
			}
			if got := connect(100); strings.Count(got, test.message) != 10 {
				t.Errorf("after a hundred connections, want ten lines %q in the log:\n%s", test.message, got)
			}
			time.Sleep(time.Minute)
			if got := connect(1); strings.Count(got, test.message) != 1 || !strings.Contains(got, "omitted=90") {
				t.Errorf("after one more, want a line %q with omitted=90:\n%s", test.message, got)
			}
		})
	}
}

// TestHandshakeWhileTheServerStops: a server that stops while a client is in the TLS handshake logs nothing.
func TestHandshakeWhileTheServerStops(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	web.Close()
	inBubble(t, func(b *bubble) {
		var log bytes.Buffer
		n := b.serve(faktory.Config{
			TLS:    &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		n.pipe()
		synctest.Wait()
		n.stop()
		if log.Len() > 0 {
			t.Errorf("the server logged %s", &log)
		}
	})
}

// longPush returns a command so long that only a few such commands are read at once.
func longPush(jid string) string {
	return `PUSH {"jid":"` + jid + `","jobtype":"a","args":["` + strings.Repeat("x", 100_000) + `"]}` + "\n"
}

const placesForLong = 8

// TestLongCommandsAreNotHeldUpByAnswers: clients that do not read the answer to a long command do not hold up others that send one.
func TestLongCommandsAreNotHeldUpByAnswers(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		for range placesForLong {
			n.worker("no-reader").send(longPush(job.NewID().String()))
		}
		synctest.Wait()
		begun := time.Now()
		p := n.worker("w")
		p.send(longPush("job-000001"))
		p.wantNext("+OK")
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLongCommandWaitsItsTurn: a long command that had to wait for others gets the full time of a command from then on.
func TestLongCommandWaitsItsTurn(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		for range placesForLong {
			n.worker("stops").send(longPush("job-000001")[:90_000])
		}
		p := n.worker("w")
		text := longPush("job-000002")
		go func() {
			time.Sleep(time.Second)
			p.send(text[:90_000])
			time.Sleep(20 * time.Second)
			p.send(text[90_000:])
		}()
		p.wantNext("+OK")
	})
}

// hangs is a store whose Insert does not return before its ctx ends.
type hangs struct{ job.Store }

func (hangs) Insert(ctx context.Context, _ ...*job.Job) ([]job.ID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestLongCommandWaitsInVain: a long command that waits too long for others is refused.
func TestLongCommandWaitsInVain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.store = hangs{b.store}
		n := b.serve(faktory.Config{})
		for range placesForLong {
			p, text := n.worker("slow"), longPush("job-000001")
			go func() {
				p.send(text[:90_000])
				time.Sleep(25 * time.Second)
				p.send(text[90_000:]) // and 30 s in the store
				_, _ = p.read()
			}()
		}
		time.Sleep(time.Second)
		p := n.worker("w")
		begun := time.Now()
		go func() { _, _ = io.WriteString(p.socket, longPush("job-000002")) }()
		p.wantNext("-ERR too many long commands are sent at once: send it again")
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("the command was refused after %v, want 30s", took)
		}
		p.closed()
	})
}

// lateDeadline is a connection on which the deadline of a command is set after the server has started to stop.
type lateDeadline struct {
	net.Conn
	armed       chan struct{} // closed when the next deadline is that of a command
	stop        func()
	interrupted chan struct{} // closed when the server has interrupted the connection
	once        sync.Once
}

func (c *lateDeadline) SetReadDeadline(at time.Time) error {
	select {
	case <-c.armed:
	default:
		return c.Conn.SetReadDeadline(at)
	}
	if at.After(time.Now()) {
		c.once.Do(func() {
			go c.stop()
			<-c.interrupted
		})
	} else if !at.IsZero() {
		defer close(c.interrupted)
	}
	return c.Conn.SetReadDeadline(at)
}

// TestStopsWhenACommandBegins: a server that stops just when a command begins does not wait for its end.
func TestStopsWhenACommandBegins(t *testing.T) {
	inBubble(t, func(b *bubble) {
		n := b.serve(faktory.Config{})
		ours, theirs := net.Pipe()
		conn := &lateDeadline{Conn: theirs, armed: make(chan struct{}), stop: n.stop, interrupted: make(chan struct{})}
		n.pipes.conns <- conn
		p := newPeer(b, ours)
		if _, err := p.read(); err != nil {
			t.Fatal(err)
		}
		p.want(`HELLO {"v":2}`, "+OK")
		synctest.Wait()
		close(conn.armed)
		begun := time.Now()
		p.send("PUSH {") // and no more
		_, err := p.read()
		n.stop()
		if took := time.Since(begun); took > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the server stopped after %v, %v", took, err)
		}
	})
}
